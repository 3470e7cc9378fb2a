package rankcore

import "errors"

// Why a count index gives no exact answer.
var (
	// ErrNotCounted: there is no index of this season, or it cannot be known to have everything. Ask the shards.
	ErrNotCounted = errors.New("no count index has the season as it is now")
	// ErrMoved: the user's shard has changed since its score was read. Read it again.
	ErrMoved = errors.New("the shard has changed since the score was read")
)

// AboveQuery asks a count index about the members at and before a key. The key is a user's, read from its shard when
// Changed was the newest message that had changed the season there: the user is then counted once, where it stands.
type AboveQuery struct {
	Board   *Board
	Season  SeasonID
	Key     int64 // Order.Key of the score
	Shard   int
	Changed Position
}

// Above is a count over all shards, each as it was at some moment between the question and the answer.
type Above struct {
	Before, Tied, Total int64    // members with a smaller key, with this key, and all
	Version             Position // the newest message that changed the season's scores
}

// HeadQuery asks a count index where the first members of a season stand.
type HeadQuery struct {
	Board  BoardID
	Season SeasonID
	Rows   int64 // at least 1
}

// Head is where the first members of a season stand: the asked number of them and those that share the last one's key,
// or all there are. Each shard is as it was at some moment between the question and the answer.
type Head struct {
	Last   int64       // none of them stands at a larger key
	Shards []ShardHead // nil where it is not known which shards they are in
}

// ShardHead is a shard's part of a Head.
type ShardHead struct {
	Rows    int64    // of the first members
	Members int64    // of the whole season
	Changed Position // the newest message that changed the season's scores there
}

// StretchQuery asks a count index about the members around a key: Back of them before those that have it, and Forth of
// them behind. None behind End is wanted.
type StretchQuery struct {
	Board       BoardID
	Season      SeasonID
	Key, End    int64  // within ±MaxScore
	Back, Forth int64  // Forth is at least 1
	Seen        []Seen // shards whose rows have been read, each once
}

// Stretch is members between two keys, both included: those that were asked for and all who share a key with one of
// them, or as many as there are. Each shard is as it was at some moment between the question and the answer.
type Stretch struct {
	First, Last         int64
	Before, Rows, Total int64      // members with a smaller key than First, members of the stretch, and all
	Version             Position   // the newest message that changed the season's scores
	Changed             []Position // by shard; as it was seen, where no row of the stretch has changed since
}

// PlacesQuery asks a count index about the members at and before several keys.
type PlacesQuery struct {
	Board  BoardID
	Season SeasonID
	Keys   []int64 // at most MaxUsers
	Seen   []Seen  // shards from which keys were read, each once
}

// Seen is a shard that somebody has read: Changed was the newest message that had changed the season's scores there.
type Seen struct {
	Shard   int
	Changed Position
}

// Places are counts over all shards, all of one moment. Each shard is as it was at some moment between the question and
// the answer. A user whose key was read from a shard that Changed says has not changed since is counted once, where it stands.
type Places struct {
	Before, Tied []int64    // of each key: members with a smaller one, and with this one
	Total        int64      // of all members
	Version      Position   // the newest message that changed the season's scores
	Changed      []Position // by shard; as it was seen, where nobody has come to one of the keys or left it since
}

// SegmentCount is how many members stand in a segment of keys: SegmentOf the key. On a descending board it mirrors
// the segment of the score, as keys mirror scores.
type SegmentCount struct {
	Segment Segment
	Members int64
}

// SegmentCounts are the members of a season by segment, the first segment first, over all shards.
type SegmentCounts struct {
	Total    int64
	Version  Position
	Changed  []Position // by shard, the newest message that changed the season's scores there
	Segments []SegmentCount
}

// ShardSegments are the members of a season by segment as one shard counts them, in no order.
type ShardSegments struct {
	Changed  Position // the newest message that changed the season's scores there
	Segments []SegmentCount
}
