package redisstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
)

// scan counts the only shard's members at each key, as an index does that is built anew.
func scan(tb testing.TB, s *redisstore.Store, b *rankcore.Board, at rankcore.Position) (seasons map[rankcore.SeasonID]map[int64]int64, calls int) {
	tb.Helper()
	ask := func(q rankcore.CountsQuery) rankcore.Counts {
		calls++
		c := s.Counts(tb.Context(), b, []rankcore.CountsQuery{q})[0]
		if c.Err != nil || c.At != at {
			tb.Fatalf("%+v: %+v", q, c)
		}
		return c
	}
	seasons = map[rankcore.SeasonID]map[int64]int64{}
	for _, season := range ask(rankcore.CountsQuery{At: at}).Seasons {
		counts, members, q := map[int64]int64{}, int64(0), rankcore.CountsQuery{At: at, Season: season, After: rankcore.NoKey}
		for {
			c := ask(q)
			for _, k := range c.Counts {
				if k.Key <= q.After || k.Count < 1 {
					tb.Fatalf("%+v behind %d", k, q.After)
				}
				q.After = k.Key
				counts[k.Key] = k.Count
				members += k.Count
			}
			if c.Ended {
				if members != c.Members {
					tb.Errorf("%d members, %d were counted", c.Members, members)
				}
				break
			}
			if len(c.Counts) == 0 {
				tb.Fatalf("%+v goes on behind nothing", c)
			}
		}
		if len(counts) > 0 {
			seasons[season] = counts
		}
	}
	return seasons, calls
}

// TestCountsAreTheMembers, around where Redis changes its encoding, with ties of any size, both orders, hidden members.
func TestCountsAreTheMembers(t *testing.T) {
	server := servers.Redis(t)
	for name, c := range map[string]struct {
		members  int
		score    func(i int) int64
		maxCalls int // for each season, with one for its name; 0: any
	}{
		"none":                 {0, nil, 0},
		"one":                  {1, func(int) int64 { return 7 }, 2},
		"127":                  {127, func(i int) int64 { return int64(i) }, 2},
		"128":                  {128, func(i int) int64 { return int64(i / 2) }, 2},
		"129":                  {129, func(i int) int64 { return int64(-i) }, 2},
		"999":                  {999, func(i int) int64 { return int64(i) }, 2},
		"1000":                 {1000, func(i int) int64 { return int64(i) }, 3},
		"all different":        {3000, func(i int) int64 { return int64(i*i) - 1000 }, 0},
		"at the ends":          {2, func(i int) int64 { return int64(2*i-1) * rankcore.MaxScore }, 2},
		"one tie":              {20_000, func(int) int64 { return -3 }, 3},
		"ties of 2000":         {20_000, func(i int) int64 { return int64(i / 2000) }, 12}, // one for each, and one to see the end
		"ties of a question":   {6000, func(i int) int64 { return int64(i / 1000) }, 0},
		"nearly of a question": {6000, func(i int) int64 { return int64(i / 999) }, 9},
		"a tie in the middle": {10_000, func(i int) int64 {
			return int64(min(max(i, 950), 9000))
		}, 0},
	} {
		for _, order := range []rankcore.Order{rankcore.Desc, rankcore.Asc} {
			t.Run(fmt.Sprint(name, "-", order), func(t *testing.T) {
				server.Do("FLUSHALL")
				b := oneShard("counts")
				b.Order = order
				b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day}
				b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour}
				w := newWriter(t, open(t, server.URL), b)
				hidden := []rankcore.Op{add("hidden", 7), {User: "hidden", Kind: rankcore.OpHide}}
				if name == "none" {
					hidden = nil
				}
				w.write(hidden...)
				var ops []rankcore.Op
				for i := range c.members {
					ops = append(ops, set(user(i), c.score(i)))
				}
				for chunk := range slices.Chunk(ops, 5000) {
					w.write(chunk...)
				}
				got, calls := scan(t, w.store, b, w.at)
				if want := counted(w, server); !sameIndex(got, want) {
					t.Errorf("scanned %v\nwant %v", got, want)
				}
				if c.maxCalls > 0 && calls > 2*c.maxCalls {
					t.Errorf("%d calls for two seasons and their names, want at most %d", calls, 2*c.maxCalls)
				}
			})
		}
	}
}

// TestCountsElsewhere: a shard that is not where it is expected says where it is, and one that is not whole or was made
// for other shards says so.
func TestCountsElsewhere(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("elsewhere"))
	before := w.at
	everything(w)
	q := rankcore.CountsQuery{At: before, Season: "all", After: rankcore.NoKey}
	ask := func() rankcore.Counts { return w.store.Counts(t.Context(), w.board, []rankcore.CountsQuery{q})[0] }
	if c := ask(); c.Err != nil || c.At != w.at || len(c.Counts) > 0 || c.Ended {
		t.Errorf("elsewhere: %+v, want at %v", c, w.at)
	}
	q.At, q.Season = w.at, "day:2026-11-30"
	if c := ask(); c.Err != nil || c.At != w.at || c.Members != 0 || len(c.Counts) > 0 || !c.Ended {
		t.Errorf("a season that is not there: %+v", c)
	}
	q.Season = "all"
	server.Do("ZREM", "rank:{elsewhere:0}:all:main", "abe")
	if c := ask(); c.Err == nil {
		t.Errorf("a member is missing: %+v", c)
	}
	other := *w.board
	other.Shards = 2
	if c := w.store.Counts(t.Context(), &other, []rankcore.CountsQuery{q})[0]; c.Err == nil {
		t.Errorf("another layout: %+v", c)
	}
	server.Do("FLUSHALL")
	if c := ask(); c.Err != nil || !c.At.IsNone() {
		t.Errorf("an empty shard: %+v", c)
	}
	q.At = rankcore.Position{}
	if c := ask(); c.Err != nil || !c.At.IsNone() || !c.Ended || len(c.Counts) > 0 {
		t.Errorf("expected to be empty: %+v", c)
	}
}
