package rankcore_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

func inZone(name string) func(*rankcore.Board) {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return func(b *rankcore.Board) {
		b.Location = loc
		b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day, rankcore.Week, rankcore.Month}
		b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour, rankcore.Month: 2160 * time.Hour}
	}
}

func TestDaysFollowTheZone(t *testing.T) {
	for _, c := range []struct {
		zone, at, id string
		hours        float64
	}{
		{"UTC", "2026-11-30T23:59:59Z", "day:2026-11-30", 24},
		{"Asia/Shanghai", "2026-11-30T16:00:00Z", "day:2026-12-01", 24},
		{"Europe/Berlin", "2026-03-29T10:00:00Z", "day:2026-03-29", 23},
		{"Europe/Berlin", "2026-10-25T10:00:00Z", "day:2026-10-25", 25},
		{"America/New_York", "2026-03-08T04:59:59Z", "day:2026-03-07", 24},
		{"America/Santiago", "2026-09-06T12:00:00Z", "day:2026-09-06", 23}, // midnight does not exist on this day
		{"America/Santiago", "2026-09-06T03:30:00Z", "day:2026-09-05", 24},
	} {
		b := board(inZone(c.zone))
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		s := b.SeasonAt(rankcore.Day, at)
		if string(s.ID) != c.id || s.End.Sub(s.Start).Hours() != c.hours {
			t.Errorf("%s in %s: got %s of %v, want %s of %vh", c.at, c.zone, s.ID, s.End.Sub(s.Start), c.id, c.hours)
		}
	}
}

// Seasons of a kind tile time: each moment is in the one that says so, and they meet without gaps.
func TestSeasonsTileTime(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Kathmandu", "America/Santiago", "Europe/Berlin", "Pacific/Apia", "Africa/Cairo"} {
		b := board(inZone(zone))
		rapid.Check(t, func(rt *rapid.T) {
			at := time.Unix(rapid.Int64Range(0, 2e9).Draw(rt, "at"), 0)
			k := rapid.SampledFrom([]rankcore.SeasonKind{rankcore.Day, rankcore.Week, rankcore.Month}).Draw(rt, "kind")
			s := b.SeasonAt(k, at)
			if at.Before(s.Start) || !at.Before(s.End) {
				rt.Fatalf("%v is not in %s, %v to %v", at, s.ID, s.Start, s.End)
			}
			next := b.SeasonAt(k, s.End)
			if !next.Start.Equal(s.End) || next.ID == s.ID {
				rt.Fatalf("%s ends at %v, %s begins at %v", s.ID, s.End, next.ID, next.Start)
			}
			if got, err := b.ParseSeason(string(s.ID), at); err != nil || got.ID != s.ID {
				rt.Fatalf("%s read as %s, %v", s.ID, got.ID, err)
			}
			if k == rankcore.Week && s.Start.In(b.Location).Weekday() != time.Monday {
				rt.Fatalf("%s begins on a %v", s.ID, s.Start.In(b.Location).Weekday())
			}
		})
	}
}

func TestSeasonsAreAskedFor(t *testing.T) {
	b := board(inZone("UTC"))
	for q, want := range map[string]rankcore.SeasonID{
		"": "all", "all": "all", "day": "day:2026-11-30", "week": "week:2026-11-30", "month": "month:2026-11",
		"day:2026-11-28": "day:2026-11-28", "week:2026-11-23": "week:2026-11-23", "month:2026-10": "month:2026-10",
	} {
		if got, err := b.ParseSeason(q, now); err != nil || got.ID != want {
			t.Errorf("%q: got %s, %v, want %s", q, got.ID, err, want)
		}
	}
	for q, missing := range map[string]bool{
		"day:2026-11-27": true, "day:2026-12-01": true, "month:2026-06": true,
		"year": false, "day:": false, "day:2026-13-01": false, "week:2026-11-24": false, "all:1": false, "Day": false, "day:2026-11-30x": false, "month:2026-11-01": false,
	} {
		if got, err := b.ParseSeason(q, now); err == nil || errors.Is(err, rankcore.ErrNoSeason) != missing {
			t.Errorf("%q: got %s, %v", q, got.ID, err)
		}
	}
	only := board(func(b *rankcore.Board) { b.Seasons = []rankcore.SeasonKind{rankcore.Month} })
	if got, err := only.ParseSeason("", now); err != nil || got.ID != "month:2026-11" {
		t.Errorf("the first kind: got %s, %v", got.ID, err)
	}
	if _, err := only.ParseSeason("all", now); !errors.Is(err, rankcore.ErrNoSeason) {
		t.Errorf("a kind the board does not have: %v", err)
	}
}

// A calendar's memory must not show: it answers as one that is asked for the first time.
func TestCalendarsRememberRightly(t *testing.T) {
	b := board(inZone("Europe/Berlin"))
	rapid.Check(t, func(rt *rapid.T) {
		c := rankcore.NewCalendar(b)
		for range 20 {
			at := now.Add(time.Duration(rapid.IntRange(-4000, 40).Draw(rt, "hours")) * time.Hour)
			stored := now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(rt, "later")) * time.Hour)
			got, want := c.Seasons(at, stored), rankcore.NewCalendar(b).Seasons(at, stored)
			if len(got) != len(want) {
				rt.Fatalf("%v stored %v: got %v, want %v", at, stored, got, want)
			}
			for i := range got {
				if got[i].ID != want[i].ID || !got[i].Kept(stored) {
					rt.Fatalf("%v stored %v: got %v, want %v", at, stored, got, want)
				}
			}
		}
	})
}
