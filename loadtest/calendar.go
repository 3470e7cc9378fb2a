package loadtest

import (
	"fmt"
	"time"

	"rankgate/rankcore"
)

// span is a season as the oracle knows it.
type span struct {
	id      rankcore.SeasonID
	expires time.Time // when its scores are retired; zero: never
}

// keptAt reports whether the season's scores are still there.
func (s span) keptAt(t time.Time) bool { return s.expires.IsZero() || t.Before(s.expires) }

// spanOf is the season of a kind that contains at, by the wall calendar of the board's zone.
func spanOf(b *rankcore.Board, kind rankcore.SeasonKind, at time.Time) span {
	local := at.In(b.Location)
	y, m, d := local.Date()
	var name string
	var end time.Time
	switch kind {
	case rankcore.Day:
		name, end = fmt.Sprintf("day:%04d-%02d-%02d", y, m, d), time.Date(y, m, d+1, 0, 0, 0, 0, b.Location)
	case rankcore.Week:
		for local.Weekday() != time.Monday {
			local = local.AddDate(0, 0, -1)
		}
		y, m, d = local.Date()
		name, end = fmt.Sprintf("week:%04d-%02d-%02d", y, m, d), time.Date(y, m, d+7, 0, 0, 0, 0, b.Location)
	case rankcore.Month:
		name, end = fmt.Sprintf("month:%04d-%02d", y, m), time.Date(y, m+1, 1, 0, 0, 0, 0, b.Location)
	default:
		return span{id: "all"}
	}
	return span{id: rankcore.SeasonID(name), expires: end.Add(b.Keep[kind])}
}
