package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
)

// TestScriptFlush: a server that forgets its scripts between any two calls costs nothing but time.
func TestScriptFlush(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), board("flush"))
	for i := range 20 {
		server.Do("SCRIPT", "FLUSH")
		w.write(add("abe", 1), add(user(i), 1))
		server.Do("SCRIPT", "FLUSH")
		if got, want := w.top(1), fmt.Sprintf("1 abe %d", i+1); got != want {
			t.Fatalf("top: %s, want %s", got, want)
		}
	}
}

// TestOutOfMemory: a step that Redis has no memory for changes nothing, and counts once when there is some.
// Audits and reads go on meanwhile.
func TestOutOfMemory(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), board("oom"))
	w.fill(1000)
	before := w.top(10)
	server.Do("CONFIG", "SET", "maxmemory", "1mb")
	for i, step := range w.steps(set(user(1), 1<<40), set(user(2), 1<<41)) {
		if len(step.Ops) == 0 {
			continue
		}
		if r := w.step(step); r.State != rankcore.StepFailed || r.Err == nil || !strings.Contains(r.Err.Error(), "OOM") {
			t.Errorf("shard %d: %+v, want out of memory", i, r)
		}
	}
	for i, r := range w.store.Positions(t.Context(), w.board) {
		if r.State != rankcore.StepAt || r.At != w.at {
			t.Errorf("shard %d: %+v, want at %v", i, r, w.at)
		}
	}
	if got := w.top(10); got != before {
		t.Errorf("top while out of memory: %s, want %s", got, before)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	w.write(set(user(1), 1<<40), set(user(2), 1<<41))
	if got, want := w.top(2), fmt.Sprintf("1 %s %d, 2 %s %d", user(2), 1<<41, user(1), 1<<40); got != want {
		t.Errorf("top with memory again: %s, want %s", got, want)
	}
}

// TestSilentAndDead: a Redis that does not answer is slow, one that is not there is down, a caller that left
// gets its own error; and everything is well when Redis is.
func TestSilentAndDead(t *testing.T) {
	server := servers.Redis(t, servers.With("appendonly", "yes"))
	s, err := redisstore.New(redisstore.Config{URL: server.URL, ReadTimeout: 300 * time.Millisecond, StepTimeout: patience, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	w := newWriter(t, s, board("silent"))
	w.write(add("abe", 1))
	top := func(ctx context.Context) error {
		_, err := s.Top(ctx, rankcore.TopQuery{Board: w.board, Season: "all", Limit: 1})
		return err
	}
	reason := func(what string, want rankcore.Reason) {
		t.Helper()
		var not *rankcore.Unavailable
		if err := top(t.Context()); !errors.As(err, &not) || not.Reason != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
		if _, err := w.rank("abe", rankcore.Exact); !errors.As(err, &not) || not.Reason != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	server.Freeze()
	reason("a frozen Redis", rankcore.CoreSlow)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := top(gone); !errors.Is(err, context.Canceled) || errors.Is(err, rankcore.ErrUnavailable) {
		t.Errorf("a caller that left: %v, want its own error", err)
	}
	server.Thaw()
	server.Kill()
	reason("a dead Redis", rankcore.CoreDown)
	if r := s.Positions(t.Context(), w.board)[0]; r.State != rankcore.StepFailed || r.Err == nil {
		t.Errorf("a position from a dead Redis: %+v", r)
	}
	server.Restart()
	if err := eventually(t, top); err != nil {
		t.Errorf("a Redis that is back: %v", err)
	}
}

// TestBackAtOnce: however often a Redis was asked in vain, the first question after it is back has an answer.
func TestBackAtOnce(t *testing.T) {
	server := servers.Redis(t, servers.With("appendonly", "yes"))
	s := open(t, server.URL)
	w := newWriter(t, s, board("back"))
	w.write(add("abe", 1))
	for range 3 {
		server.Kill()
		for range 40 { // more than any pool has places
			if _, err := w.rank("abe", rankcore.Auto); !errors.Is(err, rankcore.ErrUnavailable) {
				t.Fatalf("a dead Redis: %v", err)
			}
		}
		server.Restart()
		if _, err := w.rank("abe", rankcore.Auto); err != nil {
			t.Fatalf("a Redis that is back: %v", err)
		}
		if r := s.Positions(t.Context(), w.board)[0]; r.State == rankcore.StepFailed {
			t.Fatalf("a position, when it is back: %v", r.Err)
		}
	}
}

// eventually tries until f succeeds, for as long as patience lasts.
func eventually(t *testing.T, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

// TestCheck: a Redis that would drop keys for room is refused.
func TestCheck(t *testing.T) {
	server := servers.Redis(t)
	s := open(t, server.URL)
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("a Redis as it comes: %v", err)
	}
	server.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	var unfit *redisstore.Unfit
	if err := s.Check(t.Context()); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("a Redis that evicts: %v, want what to set", err)
	}
}

// TestCheckOfShards: a board keeps what it was created with.
func TestCheckOfShards(t *testing.T) {
	server := servers.Redis(t)
	s, b := open(t, server.URL), board("shards")
	if err := s.Check(t.Context(), b); err != nil {
		t.Errorf("a board that is not there yet: %v", err)
	}
	w := newWriter(t, s, b)
	w.fill(100)
	if err := s.Check(t.Context(), b); err != nil {
		t.Errorf("the board as it was created: %v", err)
	}
	for want, change := range map[string]func(*rankcore.Board){
		fmt.Sprint("configure shards: ", b.Shards): func(b *rankcore.Board) { b.Shards *= 2 },
		"configure order: desc":                    func(b *rankcore.Board) { b.Order = rankcore.Asc },
		"configure update: add":                    func(b *rankcore.Board) { b.Update = rankcore.UpdateBest },
		"configure scale: 0":                       func(b *rankcore.Board) { b.Scale = 2 },
		"configure ties: shared":                   func(b *rankcore.Board) { b.Ties = rankcore.TiesFirst },
	} {
		other := *b
		change(&other)
		var unfit *redisstore.Unfit
		if err := s.Check(t.Context(), &other); !errors.As(err, &unfit) || !strings.Contains(unfit.Why, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
