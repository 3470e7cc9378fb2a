package ingest

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"rankgate/rankcore"
)

// Whoever publishes sets headers, and none of them may stop a board: a stored message that looks like the
// server's own word about a session is a dead letter like any other.
func TestMessageThatLooksLikeTheServersWord(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 2)
	l, _ := r.runLog(nil, b)
	m := newModel(b)
	a, _ := r.runApplier(l, b, m)
	for _, status := range []string{"100", "404", "408", "409", "503"} {
		msg := nats.NewMsg(subjectOf(b.ID))
		msg.Header.Set("Status", status)
		msg.Header.Set("Description", "Consumer Deleted")
		if _, err := l.stream.js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, l, b, add("1", "alice", 5))
	m.scored(t, map[string]int64{"alice": 5})
	settled(t, a, l.stream)
	awaitDead(t, l, 5)
}

// Dead letters find their stream again after somebody removed it; nothing else waits for them.
func TestRemovedDeadLetterStreamIsMadeAgain(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 2)
	l, _ := r.runLog(nil, b)
	m := newModel(b)
	a, _ := r.runApplier(l, b, m)
	mustAppend(t, l, b, add("1", "alice", 5))
	settled(t, a, l.stream)
	if err := l.stream.js.DeleteStream(t.Context(), DeadStreamName); err != nil {
		t.Fatal(err)
	}
	publish(t, l.stream, b, "garbage")
	mustAppend(t, l, b, add("2", "alice", 5))
	m.scored(t, map[string]int64{"alice": 10})
	awaitDead(t, l, 1)
	if h := l.Health(); !h.Reachable {
		t.Errorf("the log counts as unreachable: %s", h.Detail)
	}
}

// A board that was taken from the configuration leaves its messages as they are: they were taken in.
func TestMessagesOfARemovedBoardAreNoDeadLetters(t *testing.T) {
	r := newRig(t)
	old, b := testBoard("old", 1), testBoard("power", 1)
	l, stop := r.runLog(nil, old, b)
	mustAppend(t, l, old, add("1", "alice", 5))
	stop()
	l, _ = r.runLog(nil, b)
	r.runApplier(l, b, newModel(b))
	publish(t, l.stream, testBoard("nobody", 1), `{"v":1,"ops":[{"user":"alice","add":1}]}`)
	awaitDead(t, l, 1) // that one; both were met in the same look
	dead, err := l.lastBuried(t.Context(), old.ID)
	if err != nil || dead != 0 {
		t.Errorf("message %d of the board that was removed is a dead letter, %v", dead, err)
	}
}

// An operator's purge of the whole log is not the birth of its boards: what emptied shards need is gone (R7).
func TestPurgedLogIsNotANewOne(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 2)
	l, stop := r.runLog(nil, b)
	mustAppend(t, l, b, add("1", "alice", 5))
	st, err := l.stream.js.Stream(t.Context(), StreamName)
	if err == nil {
		err = st.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	stop()
	l, _ = r.runLog(nil, b)
	a, _ := r.runApplier(l, b, newModel(b))
	eventually(t, func() string {
		if st := a.Status(); st.Rebuild != b.Shards {
			return fmt.Sprintf("shards: %v", st.Shards)
		}
		return ""
	})
}

func awaitDead(t *testing.T, l *Log, want uint64) {
	t.Helper()
	eventually(t, func() string {
		st, err := l.stream.js.Stream(t.Context(), DeadStreamName)
		if err != nil {
			return err.Error()
		}
		info, err := st.Info(t.Context())
		if err != nil || info.State.Msgs != want {
			return fmt.Sprintf("%d dead letters, want %d, %v", info.State.Msgs, want, err)
		}
		return ""
	})
}

// Why shards fail is for the operator to know, and not with every try.
func TestFailingShardsSayWhyNowAndThen(t *testing.T) {
	_, a, m := applierOn(t, 4)
	var said bytes.Buffer
	a.log = slog.New(slog.NewTextHandler(&said, nil))
	m.down = map[int]bool{1: true, 2: true}
	for range 3 {
		a.ask(t.Context())
		a.apply(t.Context(), []rankcore.Step{{Shard: 1}, {Shard: 2}})
	}
	if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "down") {
		t.Errorf("said: %s", text)
	}
}
