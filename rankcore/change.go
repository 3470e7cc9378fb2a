package rankcore

import "time"

// Change is what a batch of operations changed on a board, as the applier tells it.
type Change struct {
	Board BoardID
	To    Position // the batch's last message
	Users []UserID // whose scores changed
	All   bool     // more users than are worth naming
	Top   bool     // told by hand: the top rows are to be read again

	Reached []Reached // where the shards are that operations were for
}

// Reached is how far some shards have taken in the log.
type Reached struct {
	At     Position
	Shards []int
}

// Progress is how far a board's applier has come.
type Progress struct {
	Board     BoardID
	Applied   Position  // every shard that follows has taken in the log up to here
	CaughtUp  time.Time // when the applier last had everything the log has; zero: not yet
	ShardsOut int       // shards that do not follow: behind, damaged, not answering
	Rebuild   int       // of these, shards the log no longer reaches back to
	LogLost   bool      // some shard may lack operations that the log lost
}
