// Package cachetier keeps answers near the reader and decides how long they may be called fresh.
//
// Tier takes and gives rankcore.Reader. It serves an answer only within its board's freshness bound, never
// one whose load began before an eviction that names it, and never calls fresh what it cannot vouch for.
// It retries nothing and keeps nothing on disk. It may import rankcore and otter, and knows neither a store
// nor a transport: who hears of changes calls Evict and Suspect.
package cachetier
