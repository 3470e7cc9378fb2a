// Package memstore keeps the shards of boards in this process: each shard's members in order, its hidden
// users, its memory of operation ids and its position in the log, changed together under one short lock.
//
// Top, rank and counts cost O(log n) and go on while steps are applied and checkpoints are written. A
// checkpoint is a shard's whole state with its position, so a restart is a rollback to it: the applier
// reads on from there. The package never reads the log, never decides what an operation may do beyond
// rankcore's rules, and never waits for anything but its own disk.
// Of ours it may import rankcore and tally; beside them renameio, zstd, xxhash, errgroup and prometheus.
package memstore
