package rankcore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// BoardID names a board: [a-z0-9][a-z0-9_-]{0,62}.
type BoardID string

// ParseBoardID returns name as a BoardID, or an error that says what a board name looks like.
func ParseBoardID(name string) (BoardID, error) {
	ok := len(name) >= 1 && len(name) <= 63
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-')
	}
	if !ok {
		return "", errors.New("a board name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or digit")
	}
	return BoardID(name), nil
}

// Order says which score stands first.
type Order uint8

// The two orders of a board.
const (
	Desc Order = iota // the highest score is rank 1
	Asc               // the lowest score is rank 1
)

// Update says what a score event means on a board.
type Update uint8

// The three kinds of score event. A set is taken on every board.
const (
	UpdateAdd  Update = iota // the event's score is added
	UpdateSet                // the event's score replaces
	UpdateBest               // the event's score replaces when it is better by the board's order
)

// Ties says how members with the same score stand to one another.
type Ties uint8

// The two rules for ties. Which one a board has is fixed once it exists.
const (
	TiesShared Ties = iota // they share a rank (1, 2, 2, 4) and stand by user id
	TiesFirst              // whoever reached the score first, by log order, stands ahead: ranks 1, 2, 3, 4
)

// Limits of a board's shape.
const (
	MinShards = 1
	MaxShards = 4096
	MaxScale  = 9
)

// Board is the definition of one board. It does not change while the process runs, so it is shared by pointer.
type Board struct {
	ID         BoardID
	Order      Order
	Update     Update
	Ties       Ties
	Scale      int          // decimal places the API speaks; shards hold integers
	Shards     int          // a power of two; fixed once the board exists
	Seasons    []SeasonKind // at least one, no repeats
	Location   *time.Location
	Keep       map[SeasonKind]time.Duration // how long a season is kept after its end
	Head       int                          // how far top reaches, in rows
	ExactDepth int64                        // auto answers exactly down to this rank where that is cheap
	Dedupe     time.Duration                // how long operation ids are remembered, in log time
	Freshness  time.Duration                // how old an answer may be and still be called fresh

	SnapshotEvery  time.Duration // gateways put the head on their disk no more often than this; 0: a second
	SnapshotMaxAge time.Duration // how old the last good answer may be and still be shown; 0: a day
}

// Shard is the shard a user lives in.
func (b *Board) Shard(u UserID) int {
	return int(xxhash.Sum64String(string(u)) & uint64(b.Shards-1))
}

// Has reports whether the board keeps seasons of this kind.
func (b *Board) Has(k SeasonKind) bool { return slices.Contains(b.Seasons, k) }

// Takes reports whether an operation of kind k is meaningful on this board.
func (b *Board) Takes(k OpKind) error {
	switch {
	case k == OpAdd && b.Update != UpdateAdd:
		return fmt.Errorf("this board takes %q, not %q", b.Update, "add")
	case k == OpBest && b.Update != UpdateBest:
		return fmt.Errorf("this board takes %q, not %q", b.Update, "best")
	}
	return nil
}

func (o Order) String() string  { return nameOf(orders, o) }
func (u Update) String() string { return nameOf(updates, u) }
func (t Ties) String() string   { return nameOf(ties, t) }

// UnmarshalText reads "desc" or "asc".
func (o *Order) UnmarshalText(text []byte) error { return parseName(orders, text, o) }

// UnmarshalText reads "add", "set" or "best".
func (u *Update) UnmarshalText(text []byte) error { return parseName(updates, text, u) }

// UnmarshalText reads "shared" or "first".
func (t *Ties) UnmarshalText(text []byte) error { return parseName(ties, text, t) }

// MarshalText writes "desc" or "asc".
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// MarshalText writes "add", "set" or "best".
func (u Update) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// MarshalText writes "shared" or "first".
func (t Ties) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

var (
	orders  = []string{Desc: "desc", Asc: "asc"}
	updates = []string{UpdateAdd: "add", UpdateSet: "set", UpdateBest: "best"}
	ties    = []string{TiesShared: "shared", TiesFirst: "first"}
)
