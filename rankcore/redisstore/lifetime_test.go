package redisstore_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestNothingIsLeftBehind: a season whose time is up and ids beyond the horizon leave no key, and the shard is whole
// without them.
func TestNothingIsLeftBehind(t *testing.T) {
	server := servers.Redis(t)
	b := oneShard("lifetime")
	b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day}
	b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour}
	w := newWriter(t, open(t, server.URL), b)
	for day := range 10 {
		w.later = time.Duration(day) * 24 * time.Hour
		w.write(
			rankcore.Op{ID: "1", User: user(day), Value: 1}, add("abe", 1), add("zoe", 1),
			rankcore.Op{User: user(day), Kind: rankcore.OpHide}, rankcore.Op{User: "zoe", Kind: rankcore.OpHide},
		)
	}
	var days, buckets int
	for _, name := range keysOf(server, b, 0) {
		if strings.HasSuffix(name, ":main") && strings.Contains(name, ":day:") {
			days++
		}
		if strings.Contains(name, ":ids:") {
			buckets++
		}
	}
	// Today, and the days that ended less than two days ago.
	if keys := keysOf(server, b, 0); days != 3 || buckets < 1 || buckets > 3 {
		t.Errorf("%d days and %d buckets of ids are left: %v", days, buckets, keys)
	}
	w.later = 1000 * time.Hour
	w.write()
	for _, name := range keysOf(server, b, 0) {
		if strings.Contains(name, ":day:") || strings.Contains(name, ":ids:") {
			t.Errorf("%s is left", name)
		}
	}
	if r := w.store.Positions(t.Context(), b)[0]; r.State != rankcore.StepAt || r.At != w.at {
		t.Errorf("the shard: %+v, want at %v", r, w.at)
	}
	if got, want := w.top(10), "1 abe 10"; got != want {
		t.Errorf("top: %s, want %s", got, want)
	}
}

// TestSeasonWaitsForTheSlack: the log's clock may step back behind the end of a season. What is stored then still
// finds the season, whether or not a step ended in between: outcomes do not depend on batches.
func TestSeasonWaitsForTheSlack(t *testing.T) {
	server := servers.Redis(t)
	b := oneShard("slack")
	b.Seasons = []rankcore.SeasonKind{rankcore.Day}
	b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour}
	w := newWriter(t, open(t, server.URL), b)
	w.write(set("abe", 5))
	day := b.SeasonAt(rankcore.Day, monday)
	w.later = day.Expires.Sub(monday)
	w.write()
	w.later -= rankcore.IDSlack / 2
	again := w.steps(set("abe", 5))[0]
	again.Ops[0].Seasons = []rankcore.Season{day}
	if r := w.step(again); r.State != rankcore.StepApplied || r.Outcomes[0] != rankcore.Unchanged {
		t.Errorf("the same score again: %+v, want unchanged", r)
	}
}

// TestRemovedToTheLast: a shard that loses its last member, hidden user and id has no keys but its own two, and
// begins again like a new one.
func TestRemovedToTheLast(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("last"))
	everything(w)
	w.later = 1000 * time.Hour
	for _, u := range []rankcore.UserID{"abe", "zoe", "cat"} {
		w.write(rankcore.Op{User: u, Kind: rankcore.OpRemove})
	}
	if keys := keysOf(server, w.board, 0); len(keys) != 2 {
		t.Errorf("left are %v", keys)
	}
	everything(w)
	if got, want := w.top(10), "1 cat 9, 2 abe 5"; got != want {
		t.Errorf("top: %s, want %s", got, want)
	}
}

// TestTwoAppliers: two that take the same steps at the same time count everything once.
func TestTwoAppliers(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), board("two"))
	other := open(t, server.URL)
	const rounds = 100
	for range rounds {
		steps := w.steps(add("abe", 1), add("zoe", 1), add("cat", 1))
		var both [2][]rankcore.StepResult
		var wg sync.WaitGroup
		wg.Go(func() { both[0] = w.store.Apply(t.Context(), w.board, steps) })
		wg.Go(func() { both[1] = other.Apply(t.Context(), w.board, steps) })
		wg.Wait()
		for shard := range steps {
			a, b := both[0][shard], both[1][shard]
			if a.At != steps[0].To || b.At != steps[0].To || (a.State == rankcore.StepApplied) == (b.State == rankcore.StepApplied) {
				t.Fatalf("shard %d: %+v and %+v, want one applied and one at %v", shard, a, b, steps[0].To)
			}
		}
		w.at = steps[0].To
	}
	if got, want := w.top(10), "1 abe 100, 1 cat 100, 1 zoe 100"; got != want {
		t.Errorf("top: %s, want %s", got, want)
	}
}

// TestReadsMeetSteps: readers that ask while every shard changes all the time get whole answers. Each message moves
// one point from one user to the other of the same shard, so that together they always have none.
func TestReadsMeetSteps(t *testing.T) {
	server := servers.Redis(t)
	b := board("busy")
	b.Freshness = time.Nanosecond // each estimate reads all shards
	store := open(t, server.URL)
	w := newWriter(t, store, b)
	giver := rankcore.UserID("abe")
	taker := user(0)
	for i := 1; b.Shard(taker) != b.Shard(giver); i++ {
		taker = user(i)
	}
	w.write(set(giver, 0), set(taker, 0))
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for asked := 0; ; asked++ {
			select {
			case <-done:
				if asked == 0 {
					t.Error("nothing was asked")
				}
				return
			default:
			}
			page, err := store.Top(t.Context(), rankcore.TopQuery{Board: b, Season: "all", Limit: 2})
			if err != nil || page.Total != 2 || page.Entries[0].Score+page.Entries[1].Score != 0 {
				t.Errorf("top: %+v, %v", page, err)
				return
			}
			for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx} {
				st, err := store.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: taker, Precision: p})
				if err != nil || st.Total != 2 || st.Low > 1 {
					t.Errorf("%v rank: %+v, %v", p, st, err)
					return
				}
			}
		}
	})
	for range 500 {
		w.write(add(giver, -1), add(taker, 1))
	}
	close(done)
	reader.Wait()
}
