package rankcore

import (
	"errors"
	"strings"
	"time"
)

// SeasonKind is how long a season lasts.
type SeasonKind uint8

// The kinds of season. All is the one season without an end.
const (
	All SeasonKind = iota
	Day
	Week // Monday to Sunday
	Month
)

var seasonKinds = []string{All: "all", Day: "day", Week: "week", Month: "month"}

func (k SeasonKind) String() string { return nameOf(seasonKinds, k) }

// MarshalText writes "all", "day", "week" or "month".
func (k SeasonKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *SeasonKind) UnmarshalText(text []byte) error { return parseName(seasonKinds, text, k) }

// SeasonID names one season of a board: "all", "day:2026-11-30", "week:2026-11-30" (its Monday), "month:2026-11".
type SeasonID string

// Season is one season: the half-open time it spans and when its scores are retired.
// The times are zero for All.
type Season struct {
	ID      SeasonID
	Kind    SeasonKind
	Start   time.Time
	End     time.Time
	Expires time.Time // End plus the board's keep
}

// Kept reports whether the season's scores are still there at t.
func (s Season) Kept(t time.Time) bool { return s.Kind == All || t.Before(s.Expires) }

// SeasonAt is the season of kind k that contains t, by the board's calendar: days are 23 or 25 hours
// long where the zone changes its clocks.
func (b *Board) SeasonAt(k SeasonKind, t time.Time) Season {
	y, m, d := t.In(b.Location).Date()
	switch k {
	case Week:
		weekday := time.Date(y, m, d, 12, 0, 0, 0, b.Location).Weekday()
		d -= (int(weekday) + 6) % 7 // days since Monday
		return b.season(k, "2006-01-02", midnight(y, m, d, b.Location), midnight(y, m, d+7, b.Location))
	case Month:
		return b.season(k, "2006-01", midnight(y, m, 1, b.Location), midnight(y, m+1, 1, b.Location))
	case Day:
		return b.season(k, "2006-01-02", midnight(y, m, d, b.Location), midnight(y, m, d+1, b.Location))
	default:
		return Season{ID: SeasonID(All.String()), Kind: All}
	}
}

func (b *Board) season(k SeasonKind, layout string, start, end time.Time) Season {
	// Noon names the day safely where midnight does not exist.
	id := SeasonID(k.String() + ":" + start.Add(12*time.Hour).In(b.Location).Format(layout))
	return Season{ID: id, Kind: k, Start: start, End: end, Expires: end.Add(b.Keep[k])}
}

// midnight is the first moment of a day. In a zone that skips midnight, time.Date may answer within the
// day before; then the day starts when the clocks have moved.
func midnight(y int, m time.Month, d int, loc *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	if noon := time.Date(y, m, d, 12, 0, 0, 0, loc); t.Day() != noon.Day() {
		_, end := t.ZoneBounds()
		return end
	}
	return t
}

var errSeason = errors.New("a season is all, day, week, month, or a past one such as day:2026-11-30, week:2026-11-30 (its Monday), month:2026-11")

// ErrNoSeason is the answer to a season that the board does not keep.
var ErrNoSeason = errors.New("the board has no such season")

// ParseSeason resolves the season a reader asks for at time now: "" is all where the board has it, else its
// first kind; a bare kind is the current one. A malformed name is an error of its own; a season the board
// does not keep, or no longer, is ErrNoSeason.
func (b *Board) ParseSeason(q string, now time.Time) (Season, error) {
	if q == "" {
		if b.Has(All) {
			return b.SeasonAt(All, now), nil
		}
		return b.SeasonAt(b.Seasons[0], now), nil
	}
	name, day, dated := strings.Cut(q, ":")
	var k SeasonKind
	if k.UnmarshalText([]byte(name)) != nil || dated && k == All {
		return Season{}, errSeason
	}
	at := now
	if dated {
		layout := "2006-01-02"
		if k == Month {
			layout = "2006-01"
		}
		date, err := time.ParseInLocation(layout+" 15", day+" 12", b.Location)
		if err != nil {
			return Season{}, errSeason
		}
		at = date
	}
	s := b.SeasonAt(k, at)
	if dated && string(s.ID) != q { // a week named by another day than its Monday
		return Season{}, errSeason
	}
	if !b.Has(k) || !s.Kept(now) || s.Start.After(now) {
		return Season{}, ErrNoSeason
	}
	return s, nil
}

// Calendar tells which seasons an operation counts in. It remembers its last answer, since most operations
// of a batch share it. Not safe for concurrent use.
type Calendar struct {
	board       *Board
	from, until time.Time // within them, last is the answer, while nothing in it has expired
	last        []Season
}

// NewCalendar returns the board's calendar.
func NewCalendar(b *Board) *Calendar { return &Calendar{board: b} }

// Seasons are the seasons that contain at and are still kept at the time the operation was stored.
// The result is shared and must not be modified. An empty one means the operation came too late for every season.
func (c *Calendar) Seasons(at, stored time.Time) []Season {
	if c.last != nil && !at.Before(c.from) && at.Before(c.until) && c.kept(stored) {
		return c.last
	}
	var all, kept []Season
	from, until := time.Time{}, time.Unix(1<<40, 0)
	for _, k := range c.board.Seasons {
		s := c.board.SeasonAt(k, at)
		all = append(all, s)
		if s.Kept(stored) {
			kept = append(kept, s)
		}
		if k != All {
			from = later(from, s.Start)
			until = earlier(until, s.End)
		}
	}
	if len(kept) == len(all) {
		c.from, c.until, c.last = from, until, all
	}
	return kept
}

func (c *Calendar) kept(stored time.Time) bool {
	for _, s := range c.last {
		if !s.Kept(stored) {
			return false
		}
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
