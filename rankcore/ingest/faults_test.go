package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

// fill appends n single adds to as many users and returns what each must have.
func fill(t *testing.T, l *Log, b *rankcore.Board, name string, n int, want map[string]int64) {
	t.Helper()
	for i := range n {
		user := fmt.Sprintf("user%d", i%10)
		mustAppend(t, l, b, add(fmt.Sprintf("%s%d", name, i), user, 1))
		want[user]++
	}
}

func TestKilledBetweenAppendAndApply(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	want := map[string]int64{}
	l, stopLog := r.runLog(nil, b)
	fill(t, l, b, "a", 20, want)
	stopLog()
	r.stop()
	r.start()
	l, _ = r.runLog(nil, b)
	a, stop := r.runApplier(l, b, m)
	m.scored(t, want)
	settled(t, a, l.stream)
	stop()
	fill(t, l, b, "b", 20, want)
	a, _ = r.runApplier(l, b, m)
	m.scored(t, want)
	settled(t, a, l.stream)
}

func TestLostRepliesCountOnce(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	m.mute = 5
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	want := map[string]int64{}
	fill(t, l, b, "a", 40, want)
	m.scored(t, want)
	settled(t, a, l.stream)
	if m.mute != 0 {
		t.Errorf("%d replies were not lost", m.mute)
	}
}

func TestDuplicatePublishesCountOnce(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	for range 3 { // the caller had no answer and sends the same ids again
		mustAppend(t, l, b, add("1", "alice", 5), add("2", "bob", 7))
	}
	m.scored(t, map[string]int64{"alice": 5, "bob": 7})
	settled(t, a, l.stream)
}

func TestOperationsWithoutIDKeepTheOneTheyGet(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	ops := []rankcore.Op{add("", "alice", 5), add("", "alice", 5)}
	mustAppend(t, l, b, ops...)
	if ops[0].ID == "" || ops[0].ID == ops[1].ID {
		t.Fatalf("ids %q and %q", ops[0].ID, ops[1].ID)
	}
	mustAppend(t, l, b, ops...)
	m.scored(t, map[string]int64{"alice": 10})
	settled(t, a, l.stream)
}

// The heartbeat moves shards that nothing touches (R12), and notices those that were set back (R13).
func TestIdleShardsMoveAndAreAudited(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 8)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	mustAppend(t, l, b, add("1", "alice", 5))
	settled(t, a, l.stream)
	alice := b.Shard("alice")
	old := m.copyOf(alice)
	mustAppend(t, l, b, add("2", "alice", 5))
	m.scored(t, map[string]int64{"alice": 10})
	eventually(t, func() string { // all of them, though one was touched
		for s := range b.Shards {
			if m.copyOf(s).pos != a.Status().Cursor {
				return fmt.Sprintf("shard %d is at %v", s, m.copyOf(s).pos)
			}
		}
		return ""
	})
	m.with(alice, func(sh *modelShard) { *sh = old }) // a failover to a replica that lagged; nobody writes
	m.scored(t, map[string]int64{"alice": 10})
	m.with(alice, func(sh *modelShard) { *sh = modelShard{} }) // and FLUSHALL
	m.scored(t, map[string]int64{"alice": 10})
	m.with(alice, func(sh *modelShard) { sh.damaged = true }) // and one key deleted
	m.scored(t, map[string]int64{"alice": 10})
	settled(t, a, l.stream)
}

func TestShardThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 8)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	alice := b.Shard("alice")
	m.with(0, func(*modelShard) { m.down[alice] = true })
	want := map[string]int64{}
	fill(t, l, b, "a", 50, want)
	mustAppend(t, l, b, add("1", "alice", 5))
	for user, n := range want {
		if b.Shard(rankcore.UserID(user)) != alice {
			m.scored(t, map[string]int64{user: n})
		}
	}
	m.with(0, func(*modelShard) { m.down[alice] = false })
	want["alice"] = 5
	m.scored(t, want)
	settled(t, a, l.stream)
}

func TestGarbageGoesToTheDeadLetters(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	ahead := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	for _, payload := range []string{
		"", "\x00\xff", "{", `{"v":2,"ops":[{"user":"alice","add":1}]}`,
		`{"v":1,"ops":[{"id":"1","user":"alice","add":1},{"id":"2","user":"alice","best":1},{"id":"3","user":"alice","add":1,"at":"` + ahead + `"}]}`,
	} {
		publish(t, l.stream, b, payload)
	}
	mustAppend(t, l, b, add("9", "alice", 10))
	m.scored(t, map[string]int64{"alice": 11})
	settled(t, a, l.stream)
	dead, err := l.stream.js.Stream(t.Context(), DeadStreamName)
	if err != nil {
		t.Fatal(err)
	}
	if n := dead.CachedInfo().State.Msgs; n != 6 { // four messages, and two operations of the fifth
		t.Errorf("%d dead letters, want 6", n)
	}
	last, err := dead.GetLastMsgForSubject(t.Context(), deadSubjects+"power")
	if err != nil || !strings.Contains(string(last.Data), `"index":2`) || !strings.Contains(string(last.Data), `"reason":"`) {
		t.Errorf("last dead letter: %v %s", err, last.Data)
	}
	// Fed again from the first message, the shard counts the same, and the letters are not doubled.
	m.with(b.Shard("alice"), func(sh *modelShard) { *sh = modelShard{} })
	m.scored(t, map[string]int64{"alice": 11})
	settled(t, a, l.stream)
	if dead, err = l.stream.js.Stream(t.Context(), DeadStreamName); err != nil || dead.CachedInfo().State.Msgs != 6 {
		t.Errorf("%d dead letters after reading again (%v), want 6", dead.CachedInfo().State.Msgs, err)
	}
}

func TestMessagesToUnknownBoardsGoToTheDeadLetters(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	r.runApplier(l, b, newModel(b))
	nobody := testBoard("nobody", 1)
	publish(t, l.stream, nobody, `{"v":1,"ops":[{"user":"alice","add":1}]}`)
	dead := func(want uint64) {
		t.Helper()
		eventually(t, func() string {
			st, err := l.stream.js.Stream(t.Context(), DeadStreamName)
			if err != nil {
				return err.Error()
			}
			if n := st.CachedInfo().State.Msgs; n != want {
				return fmt.Sprintf("%d dead letters, want %d", n, want)
			}
			return ""
		})
	}
	dead(1)
	if err := l.buryStrays(t.Context(), nobody.ID); err != nil {
		t.Fatal(err)
	}
	dead(1)
	publish(t, l.stream, nobody, `{"v":1,"ops":[{"user":"alice","add":1}]}`)
	if err := l.buryStrays(t.Context(), nobody.ID); err != nil {
		t.Fatal(err)
	}
	dead(2)
}

func TestServerRestartsMidLoad(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 8)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	want := map[string]int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fill(t, l, b, "a", 300, want)
	}()
	for range 3 {
		seen := a.Status().Cursor.Seq
		eventually(t, func() string {
			if a.Status().Cursor.Seq < seen+10 {
				select {
				case <-done:
				default:
					return "no progress"
				}
			}
			return ""
		})
		r.stop()
		r.start()
	}
	<-done
	m.scored(t, want)
	settled(t, a, l.stream)
	if a.Status().LogLost {
		t.Error("a restart is not a loss")
	}
}

// What the log no longer has is never skipped over (R7, R9).
func TestTrimmedFrontNeedsARebuild(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	want := map[string]int64{}
	fill(t, l, b, "a", 20, want)
	settled(t, a, l.stream)
	fill(t, l, b, "b", 20, want)
	settled(t, a, l.stream)
	st, err := l.stream.js.Stream(t.Context(), StreamName)
	if err == nil {
		err = st.Purge(t.Context(), jetstream.WithPurgeSequence(a.Status().Cursor.Seq-5))
	}
	if err != nil {
		t.Fatal(err)
	}
	emptied, broken := 0, 1
	m.with(emptied, func(sh *modelShard) { *sh = modelShard{} })
	m.with(broken, func(sh *modelShard) { sh.damaged = true })
	eventually(t, func() string {
		if st := a.Status(); st.Rebuild != 2 {
			return fmt.Sprintf("shards: %v, want two to be rebuilt", st.Shards)
		}
		return ""
	})
	mustAppend(t, l, b, add("z", "alice", 1), add("z", "bob", 1), add("z", "carol", 1), add("z", "dave", 1))
	eventually(t, func() string { // the others go on
		if m.copyOf(2).pos != a.Status().Cursor {
			return "shard 2 stands still"
		}
		return ""
	})
	if sh := m.copyOf(emptied); !sh.pos.IsNone() || len(sh.scores) != 0 {
		t.Errorf("the emptied shard was fed over a gap: %v", sh)
	}
	if sh := m.copyOf(broken); !sh.damaged || len(sh.scores) == 0 {
		t.Error("the damaged shard was emptied, and nothing can fill it again")
	}
	m.with(broken, func(sh *modelShard) { sh.damaged = false }) // an operator puts its file back
	eventually(t, func() string {
		if st := a.Status(); st.Rebuild != 1 {
			return fmt.Sprintf("shards: %v, want one to be rebuilt", st.Shards)
		}
		return ""
	})
}

func TestReadingsGoStaleWithTheLog(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 2)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	mustAppend(t, l, b, add("1", "alice", 5))
	settled(t, a, l.stream)
	fresh := func() string {
		if age := time.Since(a.Status().CaughtUp); age > 500*time.Millisecond {
			return fmt.Sprintf("caught up %v ago", age)
		}
		return ""
	}
	eventually(t, fresh)
	r.stop()
	stopped := time.Now()
	eventually(t, func() string {
		if fresh() == "" {
			return "still said to be caught up"
		}
		return ""
	})
	if at := a.Status().CaughtUp; at.After(stopped) {
		t.Errorf("caught up at %v with a log that ended at %v", at, stopped)
	}
	r.start()
	eventually(t, fresh)
}

func TestMessageIDsServeOperationsWithoutOne(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	mustAppend(t, l, b, add("1", "bob", 1))
	for range 2 { // the second copy comes outside the server's own duplicate window: as another subject it would be lost
		msg := &nats.Msg{Subject: subjectOf(b.ID), Data: []byte(`{"v":1,"ops":[{"user":"alice","add":5}]}`)}
		if _, err := l.stream.js.PublishMsg(t.Context(), msg, jetstream.WithMsgID("direct-1")); err != nil {
			t.Fatal(err)
		}
	}
	m.scored(t, map[string]int64{"alice": 5})
	settled(t, a, l.stream)
}
