// Package degrade stands between the cache and the core and decides what to answer when the core is sick:
// it stops asking a core that fails, and answers with what it last said, or with the snapshot of the board's head
// that Snapshots keeps on disk for a start during an outage, or with "updating".
//
// Guard takes and gives rankcore.Reader. It never retries, never waits past its deadline, and never calls
// an old answer fresh. It may import rankcore and gobreaker, and knows neither a store nor a transport.
package degrade
