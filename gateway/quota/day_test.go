package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/gateway/quota"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestDaysAreTheZones(t *testing.T) {
	for _, c := range []struct {
		zone, at, date string
		hours          float64
		resetIn        int64
	}{
		{"UTC", "2026-11-30T23:59:59Z", "2026-11-30", 24, 1},
		{"UTC", "2026-11-30T23:59:59.5Z", "2026-11-30", 24, 1},
		{"UTC", "2026-12-01T00:00:00Z", "2026-12-01", 24, 86400},
		{"Asia/Shanghai", "2026-11-30T16:00:00Z", "2026-12-01", 24, 86400},
		{"Asia/Kathmandu", "2026-11-30T18:14:59Z", "2026-11-30", 24, 1},
		{"Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29", 23, 23 * 3600},
		{"Europe/Berlin", "2026-03-29T10:00:00Z", "2026-03-29", 23, 12 * 3600},
		{"Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25", 25, 25 * 3600},
		{"Europe/Berlin", "2026-10-25T22:30:00Z", "2026-10-25", 25, 1800},
		{"America/New_York", "2026-11-01T12:00:00Z", "2026-11-01", 25, 17 * 3600},
		{"America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06", 23, 15 * 3600}, // midnight does not exist on this day
		{"America/Santiago", "2026-09-06T03:30:00Z", "2026-09-05", 24, 1800},
		{"Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-24", 23, 9 * 3600},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		days := quota.DaysAround(at, zone(t, c.zone))
		i, ok := quota.DayOf(at, days)
		if !ok || i != 1 {
			t.Errorf("%s in %s: day %d of %v", c.at, c.zone, i, days)
			continue
		}
		g := quota.Grant{Now: at, Start: days[i], Reset: days[i+1]}
		if date := g.Start.Format(time.DateOnly); date != c.date || float64(g.Window())/3600 != c.hours || g.ResetIn() != c.resetIn {
			t.Errorf("%s in %s: %s of %d s, reset in %d s; want %s of %vh, %d s", c.at, c.zone, date, g.Window(), g.ResetIn(), c.date, c.hours, c.resetIn)
		}
	}
}

// Whatever a gateway's clock says, as long as it is wrong by less than 23 hours, the store's moment is in the same day.
func TestGatewaysAgreeOnTheDay(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Kathmandu", "America/Santiago", "Europe/Berlin", "Pacific/Chatham", "Africa/Cairo"} {
		loc := zone(t, name)
		rapid.Check(t, func(rt *rapid.T) {
			now := time.Unix(rapid.Int64Range(1.6e9, 2e9).Draw(rt, "now"), 0)
			wrong := time.Duration(rapid.Int64Range(-22*3600, 22*3600).Draw(rt, "wrong")) * time.Second
			want := quota.DaysAround(now, loc)
			days := quota.DaysAround(now.Add(wrong), loc)
			i, ok := quota.DayOf(now, days)
			if !ok || !days[i].Equal(want[1]) || !days[i+1].Equal(want[2]) {
				rt.Fatalf("%s, %v, %v wrong: day %d of %v, want %v", name, now, wrong, i, days, want[1])
			}
		})
	}
	if _, ok := quota.DayOf(time.Now().Add(72*time.Hour), quota.DaysAround(time.Now(), time.UTC)); ok {
		t.Error("a clock that is three days wrong was not noticed")
	}
}
