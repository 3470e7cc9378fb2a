package rankcore

import "math"

// NoKey stands in a Move for a member who is not there: without a score, or hidden.
const NoKey = math.MinInt64

// Move is a member's change of place: the key of the score it had (Order.Key) and of the one it has. They differ.
type Move struct{ Old, New int64 }

// SeasonMoves are what one step did to the ranked members of a season, in no order. A retired season is gone with
// all its members, and has no Moves.
type SeasonMoves struct {
	Season  SeasonID
	Retired bool
	Moves   []Move
}

// Moves are what one step did to the ranked members of a shard. An index that has the shard as it was at From has it
// as it was behind the step when it has followed them. Seasons in which nobody moved are not named.
type Moves struct {
	From    Position
	Seasons []SeasonMoves
}

// KeyCount is how many members stand at a key.
type KeyCount struct{ Key, Count int64 }

// CountsQuery asks a shard that is expected at At for the keys of one season and how many members stand at each, in
// order from the first behind After on, NoKey being before all. Without a Season it asks which seasons there are.
type CountsQuery struct {
	Shard  int
	At     Position
	Season SeasonID
	After  int64
}

// Counts answers a CountsQuery. All of it is of the moment in which the shard was at At; when that is not where it was
// expected, there is nothing else. A tie is in one piece, whatever its size. To go on, ask again after the last key.
type Counts struct {
	At      Position
	Seasons []SeasonID // when no season was asked for
	Members int64      // in the whole season
	Changed Position   // the newest message that changed the season's scores there
	Counts  []KeyCount
	Ended   bool // there are no more behind these
	Err     error
}
