package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"rankgate/rankcore"
)

func sessionAt(t *testing.T, s stream, b *rankcore.Board, p rankcore.Position) *session {
	t.Helper()
	ss, what, err := s.prove(t.Context(), b, p)
	if err != nil || what != found {
		t.Fatal(what, err)
	}
	return ss
}

// A run that is not due yet takes in what arrives, until it is large; after a silence it is due at once.
func TestRunsGatherUntilTheyAreDueOrLarge(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	s, b := a.stream, a.board
	p := publish(t, s, b, `{"v":1,"mark":"tick"}`)
	ss := sessionAt(t, s, b, p)
	defer ss.close()
	f := feed{reader: newReader(b, time.Time{}), lookout: lookout{stream: s, board: b.ID}}
	f.pace.Store(int64(time.Minute))
	p = publish(t, s, b, `{"v":1,"mark":"tick"}`)
	item := f.read(t.Context(), ss, p, rankcore.Position{})
	if item.err != nil || item.run == nil || item.run.to != p {
		t.Fatalf("the first run after a silence: %+v", item)
	}
	large := strings.Repeat(" ", maxRunBytes/3)
	for range 4 {
		if _, err := s.js.Publish(t.Context(), subjectOf(b.ID), []byte(`{"v":1,"mark":"tick"}`+large)); err != nil {
			t.Fatal(err)
		}
	}
	// One request of a session of its own brings them all; an older one might end in between.
	later := sessionAt(t, s, b, p)
	defer later.close()
	f.given = time.Now()
	if item = f.read(t.Context(), later, p, rankcore.Position{}); item.err != nil || item.run == nil || len(item.run.names) < 3 {
		t.Fatalf("a run that is not due and not large: %+v", item)
	}
}

// While the last run is being applied the next one stays open, however long ago the last was given: what arrives
// meanwhile is not left for the run after it.
func TestARunGathersWhileTheLastIsApplied(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	s, b := a.stream, a.board
	p := publish(t, s, b, `{"v":1,"mark":"tick"}`)
	ss := sessionAt(t, s, b, p)
	copies, err := s.conn.SubscribeSync(ss.reply) // of all that the session gets
	if err != nil {
		t.Fatal(err)
	}
	f := a.startFeed(t.Context(), ss, p, rankcore.Position{})
	defer f.stop()
	next := func() (item fed) {
		for item = range f.out {
			if item.err != nil {
				t.Fatal(item.err)
			}
			if item.run != nil {
				break
			}
		}
		return item
	}
	publish(t, s, b, `{"v":1,"mark":"tick"}`)
	next() // and it is being applied
	var last rankcore.Position
	for range 3 {
		last = publish(t, s, b, `{"v":1,"mark":"tick"}`)
		select {
		case item := <-f.out:
			t.Fatalf("given while the last run is applied: %+v", item)
		default:
		}
	}
	hear(t, s, ss, copies, last)
	f.applied(0)
	if item := next(); len(item.run.names) != 3 || item.run.to != last {
		t.Errorf("the next run has %v, want three messages to %v", item.run.names, last)
	}
}

// hear waits until the session has been handed every message up to one. The server tells that it delivered a message
// before it sends it, and the client that none waits before the session has it.
func hear(t *testing.T, s stream, ss *session, copies *nats.Subscription, last rankcore.Position) {
	t.Helper()
	until := func(found func(msg *nats.Msg) bool) {
		for {
			msg, err := copies.NextMsgWithContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if found(msg) {
				return
			}
		}
	}
	until(func(msg *nats.Msg) bool {
		meta, err := msg.Metadata()
		return err == nil && meta.Sequence.Stream >= last.Seq
	})
	behind := &nats.Msg{Subject: ss.reply, Header: nats.Header{"Status": {"100"}, "Test": {"behind"}}} // of no meaning to a session
	if err := s.conn.PublishMsg(behind); err != nil {
		t.Fatal(err)
	}
	until(func(msg *nats.Msg) bool { return msg.Header.Get("Test") != "" })
	eventually(t, func() string { // the session is handed one at a time: when it is handed this one, it has the others
		if err := s.conn.Flush(); err != nil {
			return err.Error()
		}
		if waiting, _, err := ss.sub.Pending(); err != nil || waiting > 0 {
			return fmt.Sprintf("%d messages have not been handed over, %v", waiting, err)
		}
		return ""
	})
}
