package rankcore

import (
	"context"
	"time"
)

// Status says how fresh an answer is.
type Status string

// The statuses of an answer.
const (
	Fresh    Status = "fresh"    // confirmed within the board's freshness bound
	Stale    Status = "stale"    // older than that; AsOf says how old
	Partial  Status = "partial"  // some shards answered from their last known rows
	Updating Status = "updating" // nothing can be shown
)

// Reason says why an answer is not fresh. A fresh one has none.
type Reason string

// The reasons.
const (
	CoreSlow        Reason = "core_slow"
	CoreDown        Reason = "core_down"
	LogUnreachable  Reason = "log_unreachable"
	ApplierBehind   Reason = "applier_behind"
	ShardRebuilding Reason = "shard_rebuilding"
	FromSnapshot    Reason = "snapshot"
)

// Precision is how well a rank is known, and what a reader may ask for.
type Precision uint8

// The precisions. Auto is only asked for, never answered.
const (
	Auto   Precision = iota // exact where that is cheap, else an estimate
	Approx                  // an estimate with bounds
	Exact
)

var precisions = []string{Auto: "auto", Approx: "approx", Exact: "exact"}

func (p Precision) String() string { return nameOf(precisions, p) }

// UnmarshalText reads "auto", "approx" or "exact".
func (p *Precision) UnmarshalText(text []byte) error { return parseName(precisions, text, p) }

// MarshalText writes the precision's name.
func (p Precision) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Origin is how an answer was come by.
type Origin uint8

// The origins.
const (
	Asked      Origin = iota // the core was asked for it
	AskedAgain               // likewise, because what memory had was too old
	FromMemory               // it was there
)

// Meta is what every answer says of itself.
type Meta struct {
	Season  SeasonID
	Status  Status
	Reason  Reason    // empty when fresh
	AsOf    time.Time // the answer was true at this moment
	Current time.Time // it has everything that the log had then; zero: all that the shards had when they were asked
	Version Position  // the newest message that changed the season's scores, as far as the answer knows
	Total   int64     // members ranked in the season
	Origin  Origin
}

// Page is a run of ranked rows. A Page is shared: it must not be modified.
type Page struct {
	Meta
	Entries []Entry
	More    bool // rows that were asked for stand behind the last one; only Rows tells
	Slot    Slot
}

// With is the same page with another Meta; p stays as it is.
func (p *Page) With(m Meta) *Page { return &Page{Meta: m, Entries: p.Entries, More: p.More} }

// Standing is where one user stands. It is shared: it must not be modified.
// While Updating, User is set and the numbers mean nothing.
type Standing struct {
	Meta
	User       UserID
	Score      Score
	Arrival    Arrival   // when it reached the score; 0 where ties share
	Precision  Precision // Exact or Approx
	Rank       int64
	Low, High  int64   // bounds of the true rank at AsOf; both equal Rank when exact
	Tied       int64   // members with this score, this one included; 0 when not exact
	Percentile float64 // share of the other members that are strictly worse
	Slot       Slot
}

// With is the same standing with another Meta; s stays as it is.
func (s *Standing) With(m Meta) *Standing {
	return &Standing{
		Meta: m, User: s.User, Score: s.Score, Arrival: s.Arrival, Precision: s.Precision,
		Rank: s.Rank, Low: s.Low, High: s.High, Tied: s.Tied, Percentile: s.Percentile,
	}
}

// SetExact places the user exactly among the members of its Meta: better have a better score, ahead have its score and
// stand before it all the same, and tied have its score, this user included. Where ties share, nobody is ahead and the
// tied are no worse; else everybody behind it is.
func (s *Standing) SetExact(t Ties, better, ahead, tied int64) {
	rank := better + 1
	worse := s.Total - better - tied
	if t == TiesFirst {
		rank += ahead
		worse = s.Total - rank
	}
	s.Precision, s.Tied = Exact, tied
	s.Rank, s.Low, s.High = rank, rank, rank
	s.Percentile = Percentile(worse, s.Total)
}

// TopQuery asks for Limit rows from Offset on. Limit 0 asks for the Meta alone.
//
// Since, here and in the other queries, is for readers with a memory: an answer that they have must have been asked
// for after it. Zero, or a moment that is still to come, asks for nothing.
type TopQuery struct {
	Board         *Board
	Season        SeasonID
	Offset, Limit int
	Since         time.Time
}

// RankQuery asks where a user stands.
type RankQuery struct {
	Board     *Board
	Season    SeasonID
	User      UserID
	Precision Precision
	Since     time.Time // see TopQuery
}

// Reader answers questions about boards. Safe for concurrent use. Every method returns within ctx's
// deadline and fails only with ErrNotRanked (Rank, and Rows around a user), ErrUnavailable, or ctx's error.
// A season nobody has scored in is an empty page, not an error. A query's strings may be views into a buffer that
// whoever asks uses again: a Reader copies what it keeps, or what may outlive the call.
//
// Rows is one question for pages and for neighbours: both are rows from a place on, with the rank of the first
// counted over the whole season, and both cost the same at any depth.
type Reader interface {
	Top(ctx context.Context, q TopQuery) (*Page, error)
	Rank(ctx context.Context, q RankQuery) (*Standing, error)
	Rows(ctx context.Context, q RowsQuery) (*Page, error)
	Ranks(ctx context.Context, q RanksQuery) (*Standings, error)
}
