// Package countindex knows, for the members of one ranking, how many stand at each key, so that how many stand
// before any key is a lookup, whatever the size.
//
// It keeps no members and no shards, does no I/O and starts nothing. Of ours it imports rankcore only.
package countindex
