package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// everything fills each kind of key of a shard: scores, scores of a hidden user, and remembered ids.
func everything(w *writer) {
	w.write(
		add("abe", 5), add("zoe", 7), rankcore.Op{ID: "1", User: "cat", Value: 9},
		rankcore.Op{User: "zoe", Kind: rankcore.OpHide},
	)
}

func oneShard(name rankcore.BoardID) *rankcore.Board {
	b := board(name)
	b.Shards = 1
	return b
}

// TestPoisonedKey: a key of the wrong type fails the step before it writes anything, and the step counts once
// when the key is mended. Other shards go on.
func TestPoisonedKey(t *testing.T) {
	server := servers.Redis(t, servers.With("enable-debug-command", "yes"))
	for ties, keys := range map[rankcore.Ties]int{rankcore.TiesShared: 7, rankcore.TiesFirst: 8} {
		t.Run(ties.String(), func(t *testing.T) {
			b := oneShard(rankcore.BoardID("poison-" + ties.String()))
			b.Ties = ties
			testPoisonedKey(t, server, b, keys)
		})
	}
}

func testPoisonedKey(t *testing.T, server *servers.RedisServer, b *rankcore.Board, keys int) {
	w := newWriter(t, open(t, server.URL), b)
	everything(w)
	names := keysOf(server, w.board, 0)
	if len(names) != keys {
		t.Fatalf("a full shard has the keys %v, want %d", names, keys)
	}
	for _, name := range names {
		server.Do("RENAME", name, "kept")
		server.Do("SET", name, "poison")
		before := server.Do("DEBUG", "DIGEST")
		steps := w.steps(add("abe", 5))
		if r := w.step(steps[0]); r.State != rankcore.StepFailed || r.Err == nil || !strings.Contains(r.Err.Error(), "WRONGTYPE") {
			t.Errorf("%s is a string: %+v, want an error that says so", name, r)
		}
		if after := server.Do("DEBUG", "DIGEST"); after != before {
			t.Errorf("%s is a string: the failed step wrote something", name)
		}
		server.Do("RENAME", "kept", name)
		w.write(add("abe", 5))
	}
	if got, want := w.top(10), fmt.Sprintf("1 abe %d, 2 cat 9", 5+5*len(names)); got != want {
		t.Errorf("after %d mended keys: %s, want %s", len(names), got, want)
	}
}

// TestLostKey: whichever key is gone, the shard says so, reset empties it, and it can be fed anew.
func TestLostKey(t *testing.T) {
	server := servers.Redis(t)
	names := []string{"meta", "index", "hidden", "all:main", "all:segment", "all:aside", "all:reached", "ids:", "moves", "meta index", "meta index hidden"}
	for _, lost := range names {
		t.Run(lost, func(t *testing.T) {
			server.Do("FLUSHALL")
			b := oneShard("lost")
			b.Ties = rankcore.TiesFirst // it has every key there is
			w := newWriter(t, open(t, server.URL), b)
			w.moves = true
			everything(w)
			for _, name := range keysOf(server, w.board, 0) {
				for part := range strings.FieldsSeq(lost) {
					if strings.Contains(name, "}:"+part) {
						server.Do("DEL", name)
					}
				}
			}
			step := w.steps(add("abe", 1))[0]
			if strings.HasPrefix(lost, "meta index") {
				step.From = rankcore.Position{} // it looks like a shard that has not begun
			}
			if r := w.step(step); r.State != rankcore.StepDamaged {
				t.Fatalf("step: %+v, want damaged", r)
			}
			if err := w.store.Reset(t.Context(), w.board, 0); err != nil {
				t.Fatal(err)
			}
			if left := keysOf(server, w.board, 0); len(left) > 0 {
				t.Fatalf("after reset there are %v", left)
			}
			if r := w.store.Positions(t.Context(), w.board)[0]; r.State != rankcore.StepAt || !r.At.IsNone() {
				t.Fatalf("after reset: %+v, want at none", r)
			}
			w.at = rankcore.Position{}
			w.write() // as far as it has been: before that it is not ready
			everything(w)
			if got, want := w.top(10), "1 cat 9, 2 abe 5"; got != want {
				t.Errorf("fed anew: %s, want %s", got, want)
			}
		})
	}
}

// TestNotReadyIsNotAnAnswer: a board of which one shard is gone has no top and no ranks, but for knowing in a whole
// shard that a user is not ranked.
func TestNotReadyIsNotAnAnswer(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), board("gone"))
	w.write(add("abe", 1), add("zoe", 2), add("cat", 3), add("dan", 4))
	gone := w.board.Shard("abe")
	for _, name := range keysOf(server, w.board, gone) {
		server.Do("DEL", name)
	}
	rebuilding := func(what string, err error) {
		t.Helper()
		var not *rankcore.Unavailable
		if !errors.As(err, &not) || not.Reason != rankcore.ShardRebuilding {
			t.Errorf("%s: %v, want shard_rebuilding", what, err)
		}
	}
	_, err := w.store.Top(t.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: 1})
	rebuilding("top", err)
	for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx, rankcore.Auto} {
		_, err = w.rank("abe", p)
		rebuilding("a rank from the lost shard", err)
		if other := userElsewhere(w.board, gone); other != "" {
			if _, err = w.rank(other, p); !errors.Is(err, rankcore.ErrNotRanked) {
				t.Errorf("an unknown user of a whole shard: %v, want not ranked", err)
			}
		}
	}
}

func userElsewhere(b *rankcore.Board, shard int) rankcore.UserID {
	for i := 0; ; i++ {
		if u := user(i); b.Shard(u) != shard {
			return u
		}
	}
}

// TestRolledBack: a shard restored from an older copy says where it is, and goes on from there.
func TestRolledBack(t *testing.T) {
	server := servers.Redis(t, servers.With("enable-debug-command", "yes"))
	w := newWriter(t, open(t, server.URL), oneShard("rollback"))
	everything(w)
	older := w.at
	server.Do("SAVE")
	first := w.steps(rankcore.Op{ID: "2", User: "cat", Value: 1})[0]
	w.write(rankcore.Op{ID: "2", User: "cat", Value: 1})
	server.Do("DEBUG", "RELOAD", "NOSAVE")
	last := w.steps(add("abe", 1))[0]
	if r := w.step(last); r.State != rankcore.StepAt || r.At != older {
		t.Fatalf("a shard that went back: %+v, want at %v", r, older)
	}
	for _, step := range []rankcore.Step{first, last} {
		if r := w.step(step); r.State != rankcore.StepApplied {
			t.Fatalf("catching up: %+v", r)
		}
	}
	if got, want := w.top(10), "1 cat 10, 2 abe 6"; got != want {
		t.Errorf("after catching up: %s, want %s", got, want)
	}
	server.Do("FLUSHALL")
	if r := w.step(last); r.State != rankcore.StepAt || !r.At.IsNone() {
		t.Errorf("an emptied shard: %+v, want at none", r)
	}
}
