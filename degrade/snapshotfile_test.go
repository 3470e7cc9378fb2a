package degrade

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

var daily = &rankcore.Board{
	ID: "daily", Shards: 1, Scale: 2, Location: time.UTC, Head: 10,
	Seasons: []rankcore.SeasonKind{rankcore.All, rankcore.Day}, SnapshotMaxAge: time.Hour,
}

// pageOf is a page of a season, true at asOf, whose first user is first.
func pageOf(season rankcore.SeasonID, asOf time.Time, first rankcore.UserID) *rankcore.Page {
	return &rankcore.Page{
		Meta: rankcore.Meta{
			Season: season, Status: rankcore.Fresh, AsOf: asOf, Total: 1 << 40,
			Version: rankcore.Position{Seq: 1 << 50, Time: asOf.UnixNano()},
		},
		Entries: []rankcore.Entry{
			{Rank: 1, User: first, Score: rankcore.MaxScore},
			{Rank: 2, User: "@z/o e~.\u00e9", Score: 0, Arrival: 1<<63 | 1},
			{Rank: 2, User: rankcore.UserID(strings.Repeat("x", 256)), Score: 0},
			{Rank: 4, User: "b", Score: -rankcore.MaxScore},
		},
	}
}

// put writes pages of one season, one after the other, and returns the newest's file.
func put(t *testing.T, dir string, pages ...*rankcore.Page) (newest string) {
	t.Helper()
	f := newSnapshotFile(dir, seasonKey{daily.ID, pages[0].Season})
	for _, p := range pages {
		if err := f.write(daily, p); err != nil {
			t.Fatal(err)
		}
	}
	return f.path(f.newest)
}

// opened are the snapshots in dir, with what they log and how many files they pass over.
func opened(t *testing.T, dir string, boards ...*rankcore.Board) (s *Snapshots, logged string, bad float64) {
	t.Helper()
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	s = OpenSnapshots(SnapshotsConfig{
		Dir: dir, Boards: boards, Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: registry,
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "rankgate_degrade_snapshot_bad_files_total" {
			bad = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return s, log.String(), bad
}

func TestSnapshotsComeBackAsTheyWere(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	all, day := pageOf("all", now, "a"), pageOf("day:2026-11-30", now, "d")
	put(t, dir, pageOf("all", now.Add(-time.Second), "old"), all)
	put(t, dir, day)
	s, logged, bad := opened(t, dir, daily)
	if logged != "" || bad != 0 {
		t.Errorf("%v files passed over: %s", bad, logged)
	}
	for _, want := range []*rankcore.Page{all, day} {
		got := s.top(rankcore.TopQuery{Board: daily, Season: want.Season, Limit: 4})
		if got == nil || got.Status != rankcore.Stale || got.Reason != rankcore.FromSnapshot {
			t.Fatalf("season %s: %+v", want.Season, got)
		}
		if !cmp.Equal(got.Entries, want.Entries) || got.Total != want.Total || got.Version != want.Version ||
			!got.AsOf.Equal(want.AsOf) || got.Season != want.Season {
			t.Errorf("season %s came back as %+v", want.Season, got)
		}
	}
}

// Every way in which the newest file can be damaged leaves the one before, and is told.
func TestDamagedSnapshotIsPassedOver(t *testing.T) {
	cases := map[string]func(data []byte) []byte{
		"emptied":       func([]byte) []byte { return nil },
		"zeroed":        func(data []byte) []byte { return make([]byte, len(data)) },
		"cut at half":   func(data []byte) []byte { return data[:len(data)/2] },
		"a byte short":  func(data []byte) []byte { return data[:len(data)-1] },
		"a byte longer": func(data []byte) []byte { return append(data, 0) },
		"other format":  func(data []byte) []byte { return bytes.Replace(data, []byte(snapshotFormat), []byte("0\n"), 1) },
		"other file":    func([]byte) []byte { return []byte("#!/bin/sh\necho this is not a snapshot at all\n") },
		"all flipped": func(data []byte) []byte {
			for i := range data {
				data[i] ^= 0xff
			}
			return data
		},
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			dir, now := t.TempDir(), time.Now()
			newest := put(t, dir, pageOf("all", now.Add(-time.Second), "old"), pageOf("all", now, "new"))
			data, err := os.ReadFile(newest)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(newest, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			s, logged, bad := opened(t, dir, daily)
			if bad != 1 || strings.Count(logged, "\n") != 1 || !strings.Contains(logged, filepath.Base(newest)) {
				t.Errorf("%v files passed over: %s", bad, logged)
			}
			if got := s.held(seasonKey{"daily", "all"}); got == nil || got.Entries[0].User != "old" {
				t.Errorf("answers %+v, want the snapshot before", got)
			}
			// The next one goes over the damaged file.
			f := s.files[seasonKey{"daily", "all"}]
			if err := f.write(daily, pageOf("all", now, "next")); err != nil || f.path(f.newest) != newest {
				t.Errorf("the next went to %s, %v", f.path(f.newest), err)
			}
		})
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	data := appendSnapshot(nil, daily, pageOf("all", time.Now(), "a"))
	for bit := range len(data) * 8 {
		data[bit/8] ^= 1 << (bit % 8)
		if page, err := parseSnapshot(data, daily); err == nil {
			t.Fatalf("bit %d: %+v", bit, page)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	for n := range data {
		if page, err := parseSnapshot(data[:n], daily); err == nil {
			t.Fatalf("cut to %d bytes: %+v", n, page)
		}
	}
	if _, err := parseSnapshot(data, daily); err != nil {
		t.Fatal(err)
	}
}

// What a checksum vouches for may still be wrong: it must not end the process, or take all memory.
func TestAnyContentIsReadInSafety(t *testing.T) {
	data := appendSnapshot(nil, daily, pageOf("all", time.Now(), "a"))
	content := data[:len(data)-snapshotSum]
	for i := len(snapshotLine + snapshotFormat); i < len(content); i++ {
		was := content[i]
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			content[i] = b
			binary.LittleEndian.PutUint64(data[len(content):], xxhash.Sum64(content))
			if page, err := parseSnapshot(data, daily); err == nil && len(page.Entries) != 4 {
				t.Fatalf("byte %d as %d: %d rows, and content left over", i, b, len(page.Entries))
			}
		}
		content[i] = was
	}
}

func TestSnapshotOfAnotherBoardIsNotShown(t *testing.T) {
	dir := t.TempDir()
	file := put(t, dir, pageOf("all", time.Now(), "a"))
	other := func(change func(*rankcore.Board)) *rankcore.Board {
		b := *daily
		change(&b)
		return &b
	}
	for name, b := range map[string]*rankcore.Board{
		"order": other(func(b *rankcore.Board) { b.Order = rankcore.Asc }),
		"scale": other(func(b *rankcore.Board) { b.Scale = 0 }),
		"ties":  other(func(b *rankcore.Board) { b.Ties = rankcore.TiesFirst }),
	} {
		if s, _, bad := opened(t, dir, b); bad != 1 || s.held(seasonKey{"daily", "all"}) != nil {
			t.Errorf("with another %s: %v files passed over, answers %v", name, bad, s.heads)
		}
	}
	if s, logged, _ := opened(t, dir, other(func(b *rankcore.Board) { b.ID = "dail" })); len(s.heads) != 0 || logged != "" {
		t.Errorf("a board whose name begins alike has %v: %s", s.heads, logged)
	}
	if err := os.Rename(file, filepath.Join(dir, "daily.day-2026-11-30.a.snapshot")); err != nil {
		t.Fatal(err)
	}
	if s, _, bad := opened(t, dir, daily); bad != 1 || len(s.heads) != 0 {
		t.Errorf("under another season's name: %v files passed over, answers %v", bad, s.heads)
	}
}

func TestOldSnapshotsAreRemoved(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	put(t, dir, pageOf("day:2026-11-29", now.Add(-2*time.Hour), "a"), pageOf("day:2026-11-29", now.Add(-time.Hour-time.Second), "a"))
	kept := put(t, dir, pageOf("all", now.Add(-time.Hour+time.Minute), "a"))
	left, others := filepath.Join(dir, ".daily.all.a.snapshot123"), filepath.Join(dir, ".daily.all.a.snapshot456")
	for _, path := range []string{left, others} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(left, now.Add(-2*leftAfter), now.Add(-2*leftAfter)); err != nil {
		t.Fatal(err)
	}
	if s, logged, _ := opened(t, dir, daily); len(s.heads) != 1 || logged != "" {
		t.Errorf("answers %v: %s", s.heads, logged)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{filepath.Base(others), filepath.Base(kept)}; !cmp.Equal(names, want) {
		t.Errorf("files left: %v, want %v", names, want)
	}
}
