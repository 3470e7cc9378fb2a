package quota

import "time"

// DaysAround are where the day before, the day of now, the day after, and the one after that begin in a zone: the
// bounds of three days. A store picks the one that its own clock is in.
func DaysAround(now time.Time, zone *time.Location) []time.Time {
	y, m, d := now.In(zone).Date()
	days := make([]time.Time, 4)
	for i := range days {
		days[i] = midnight(y, m, d-1+i, zone)
	}
	return days
}

// midnight is the first moment of a day. In a zone that skips midnight, time.Date may answer within the day
// before; then the day starts when the clocks have moved.
func midnight(y int, m time.Month, d int, zone *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if noon := time.Date(y, m, d, 12, 0, 0, 0, zone); t.Day() != noon.Day() {
		_, end := t.ZoneBounds()
		return end
	}
	return t
}

// DayOf is the index of the day in bounds that now is in. ok is false when it is in none.
func DayOf(now time.Time, bounds []time.Time) (day int, ok bool) {
	for i := 0; i+1 < len(bounds); i++ {
		if !now.Before(bounds[i]) && now.Before(bounds[i+1]) {
			return i, true
		}
	}
	return 0, false
}
