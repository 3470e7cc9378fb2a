package redisstore_test

import (
	"errors"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// questions are those that must not take a shard that has gone back for current.
func questions(w *writer) map[string]func() error {
	ctx := w.tb.Context()
	return map[string]func() error{
		"top": func() error {
			_, err := w.store.Top(ctx, rankcore.TopQuery{Board: w.board, Season: "all", Limit: 10})
			return err
		},
		"a rank": func() error {
			_, err := w.rank("abe", rankcore.Exact)
			return err
		},
		"rows around a user": func() error {
			_, err := w.store.Rows(ctx, rankcore.RowsQuery{Board: w.board, Season: "all", Around: "abe", Limit: 3})
			return err
		},
	}
}

// TestShardThatWentBack: a replica that lagged takes the master's place. Until the applier has fed it again
// its answers are not given for current ones.
func TestShardThatWentBack(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("back"))
	everything(w)
	before, old := w.at, keysOf(server, w.board, 0)
	for _, name := range old {
		server.Do("COPY", name, "old "+name)
	}
	steps := w.steps(add("abe", 5))
	if r := w.step(steps[0]); r.State != rankcore.StepApplied {
		t.Fatalf("step: %+v", r)
	}
	for _, name := range keysOf(server, w.board, 0) {
		server.Do("DEL", name)
	}
	for _, name := range old {
		server.Do("COPY", "old "+name, name)
	}
	if r := w.store.Positions(t.Context(), w.board)[0]; r.State != rankcore.StepAt || r.At != before {
		t.Fatalf("the shard that went back: %+v, want at %v", r, before)
	}
	for what, ask := range questions(w) {
		var not *rankcore.Unavailable
		if err := ask(); !errors.As(err, &not) || not.Reason != rankcore.ShardRebuilding {
			t.Errorf("%s: %v, want %s", what, err, rankcore.ShardRebuilding)
		}
	}
	if r := w.step(steps[0]); r.State != rankcore.StepApplied { // it is fed again
		t.Fatalf("step: %+v", r)
	}
	for what, ask := range questions(w) {
		if err := ask(); err != nil {
			t.Errorf("%s: %v, want an answer", what, err)
		}
	}
	if got, want := w.top(2), "1 abe 10, 2 cat 9"; got != want {
		t.Errorf("top: %s, want %s", got, want)
	}
}

// TestLostReplyRaisesTheFloor: that a step happened is known from where the shard is afterwards. Going back behind it
// is going back.
func TestLostReplyRaisesTheFloor(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("lost"))
	everything(w)
	old := keysOf(server, w.board, 0)
	for _, name := range old {
		server.Do("COPY", name, "old "+name)
	}
	step := w.steps(add("abe", 5))[0]
	audit := rankcore.Step{From: step.From, To: step.From}
	other := open(t, server.URL) // its answers are not heard by the first
	if r := other.Apply(t.Context(), w.board, []rankcore.Step{step})[0]; r.State != rankcore.StepApplied {
		t.Fatalf("step: %+v", r)
	}
	if r := w.step(audit); r.State != rankcore.StepAt || r.At != step.To {
		t.Fatalf("audit: %+v, want at %v", r, step.To)
	}
	for _, name := range keysOf(server, w.board, 0) {
		server.Do("DEL", name)
	}
	for _, name := range old {
		server.Do("COPY", "old "+name, name)
	}
	for what, ask := range questions(w) {
		var not *rankcore.Unavailable
		if err := ask(); !errors.As(err, &not) || not.Reason != rankcore.ShardRebuilding {
			t.Errorf("%s: %v, want %s", what, err, rankcore.ShardRebuilding)
		}
	}
}

// TestAShardThatOthersSawFurther: a process that only reads hears from the applier how far shards have been.
func TestAShardThatOthersSawFurther(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("heard"))
	everything(w)
	further := w.steps(add("abe", 5))[0].To
	w.store.Reached(w.board.ID, rankcore.Reached{At: further, Shards: []int{0}})
	for what, ask := range questions(w) {
		var not *rankcore.Unavailable
		if err := ask(); !errors.As(err, &not) || not.Reason != rankcore.ShardRebuilding {
			t.Errorf("%s: %v, want %s", what, err, rankcore.ShardRebuilding)
		}
	}
}

// TestLogThatLostItsTail gives lower sequences at later times. That is not a shard that went back.
func TestLogThatLostItsTail(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("tail"))
	everything(w)
	w.write(add("abe", 5))
	from := w.at
	w.at = rankcore.Position{Seq: 1, Time: from.Time}
	step := w.steps(add("abe", 5))[0]
	step.From, step.To.Time = from, from.Time+1
	if r := w.step(step); r.State != rankcore.StepApplied {
		t.Fatalf("step: %+v", r)
	}
	for what, ask := range questions(w) {
		if err := ask(); err != nil {
			t.Errorf("%s: %v, want an answer", what, err)
		}
	}
}
