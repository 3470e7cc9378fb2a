package rankcore

import (
	"math"
	"time"
)

// Limits of RowsQuery and RanksQuery. Readers rely on them; whoever asks checks them.
const (
	MaxRows   = 1000 // rows of one page
	MaxAround = 101  // rows around a user
	MaxUsers  = 200  // users of one batch
)

// Place is where a row stands: at its score and, inside the tie, at its arrival and its user. A place stays when its
// member moves on, so a run of pages that goes on behind it skips and repeats nobody else. The zero Place is before
// the first row.
type Place struct {
	Score   Score
	Arrival Arrival
	User    UserID // empty in the zero Place only
}

// IsStart reports whether p is before the first row.
func (p Place) IsStart() bool { return p.User == "" }

// ScoreRange is the scores from one to another, both included. The zero ScoreRange is every score.
type ScoreRange struct {
	min, max Score
	bounded  bool
}

// Between is the range from min to max. It is empty when max is below min.
func Between(least, most Score) ScoreRange { return ScoreRange{least, most, true} }

// Bounds are the lowest and the highest score of the range.
func (r ScoreRange) Bounds() (least, most Score) {
	if !r.bounded {
		return -MaxScore, MaxScore
	}
	return r.min, r.max
}

// IsWhole reports whether r is every score.
func (r ScoreRange) IsWhole() bool { return !r.bounded }

// Keys are the range as keys of o (see Order.Key): from the first to the last.
func (o Order) Keys(r ScoreRange) (first, last int64) {
	least, most := r.Bounds()
	if o == Desc {
		least, most = most, least
	}
	return o.Key(least), o.Key(most)
}

// RowsQuery asks for a run of ranked rows: the rows behind a place, or those around a user.
type RowsQuery struct {
	Board  *Board
	Season SeasonID
	Limit  int // 1 to MaxRows, or to MaxAround around a user

	After  Place      // rows behind it
	Within ScoreRange // rows of these scores only

	// Around asks for this user's row and its neighbours: as many before as behind it where the ends allow, one
	// more before it when Limit is even. After and Within are then not used.
	Around UserID

	Since time.Time // see TopQuery
}

// Gap is a place between rows: before every row whose key is larger, and in a tie before its arrival and user and
// every later one. It is how stores are asked, since it need not stand at a member.
type Gap struct {
	Key     int64 // of the board's order
	Arrival Arrival
	User    UserID
}

// StartGap is before every row.
var StartGap = Gap{Key: math.MinInt64}

// Gap is where the rows that q asks for begin. It does not apply to rows around a user.
func (q *RowsQuery) Gap() Gap {
	o := q.Board.Order
	first, _ := o.Keys(q.Within)
	switch {
	case !q.After.IsStart() && o.Key(q.After.Score) >= first:
		return o.GapBehind(q.After)
	case q.Within.IsWhole():
		return StartGap
	}
	return Gap{Key: first}
}

// GapBefore is the gap right before a row.
func (o Order) GapBefore(p Place) Gap { return Gap{o.Key(p.Score), p.Arrival, p.User} }

// GapBehind is the gap right behind a row: no user id holds a zero byte, so none stands between the two.
func (o Order) GapBehind(p Place) Gap { return Gap{o.Key(p.Score), p.Arrival, p.User + "\x00"} }

// Precedes reports whether the gap is before a row of that key, arrival and user.
func (g Gap) Precedes(key int64, a Arrival, u UserID) bool {
	if key != g.Key {
		return key > g.Key
	}
	return a > g.Arrival || a == g.Arrival && u >= g.User
}
