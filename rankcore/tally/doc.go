// Package tally counts members by score: how many stand at a score, how many stand before it, and which score the n-th
// of them has, each in the time of a lookup however many there are.
//
// It knows no members, no boards and no shards, and does no I/O. Of ours it imports rankcore only.
package tally
