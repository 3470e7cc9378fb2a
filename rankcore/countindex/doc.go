// Package countindex knows how many members of a board stand at each score, over all shards, so that an exact rank is
// a lookup whatever the size. It follows the steps of an applier, which pass through it on their way to the store, and
// is built by a scan, shard after shard, while they go on. When it cannot be sure to have everything it says so.
//
// It keeps no members, does no I/O of its own and starts nothing but in Run. Of ours it imports rankcore and tally.
package countindex
