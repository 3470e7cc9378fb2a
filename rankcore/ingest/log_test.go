package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

func TestFullLogRefusesAndResumes(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(func(c *LogConfig) { c.MaxBytes = 64 << 10 }, b)
	big := make([]rankcore.Op, 200)
	for i := range big {
		big[i] = add("", fmt.Sprintf("user%d", i), 1)
	}
	mustAppend(t, l, b, add("1", "alice", 1))
	var err error
	for err == nil {
		for i := range big {
			big[i].ID = ""
		}
		_, err = l.Append(t.Context(), b, big)
	}
	if !errors.Is(err, ErrLogFull) || !errors.Is(err, ErrLogUnavailable) {
		t.Fatalf("a full log answers %v", err)
	}
	if h := l.Health(); !h.Full {
		t.Errorf("health of a full log: %+v", h)
	}
	v, err := l.stream.look(t.Context())
	if err != nil || v.first != 1 {
		t.Fatalf("the log begins at %d (%v): something was dropped", v.first, err)
	}
	st, err := l.stream.js.Stream(t.Context(), StreamName)
	if err == nil {
		err = st.Purge(t.Context(), jetstream.WithPurgeSequence(v.last))
	}
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, b, add("2", "alice", 1))
	if h := l.Health(); h.Full || !h.Reachable {
		t.Errorf("health after room was made: %+v", h)
	}
}

// A stream that answers may still store nothing, as on a full disk: here it takes no message of that size.
func TestFailingAppendsAreTold(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	mustAppend(t, l, b, add("1", "alice", 1))
	limit := func(bytes int32) {
		st, err := l.stream.js.Stream(t.Context(), StreamName)
		if err == nil {
			c := st.CachedInfo().Config
			c.MaxMsgSize = bytes
			_, err = l.stream.js.UpdateStream(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(8)
	if _, err := l.Append(t.Context(), b, []rankcore.Op{add("2", "alice", 1)}); !errors.Is(err, ErrLogUnavailable) {
		t.Fatalf("a stream that stores nothing answers %v", err)
	}
	if h := l.Health(); !h.Reachable || !strings.Contains(h.Detail, "append failed") {
		t.Errorf("health while appends fail: %+v", h)
	}
	limit(-1)
	mustAppend(t, l, b, add("2", "alice", 1))
	if h := l.Health(); !h.Reachable || h.Detail != "" {
		t.Errorf("health after appends succeed: %+v", h)
	}
}

func TestAppendWithoutALogSaysSo(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	mustAppend(t, l, b, add("1", "alice", 1))
	r.stop()
	if _, err := l.Append(t.Context(), b, []rankcore.Op{add("2", "alice", 1)}); !errors.Is(err, ErrLogUnavailable) || errors.Is(err, ErrLogFull) {
		t.Errorf("without a log: %v", err)
	}
	eventually(t, func() string {
		if l.Health().Reachable {
			return "health says it is reachable"
		}
		return ""
	})
	r.start()
	mustAppend(t, l, b, add("2", "alice", 1))
}

func TestEverythingStartsBeforeTheLog(t *testing.T) {
	r := newRig(t)
	r.stop()
	b := testBoard("power", 2)
	m := newModel(b)
	l, _ := r.runLog(nil, b)
	a, _ := r.runApplier(l, b, m)
	r.start()
	mustAppend(t, l, b, add("1", "alice", 5))
	m.scored(t, map[string]int64{"alice": 5})
	settled(t, a, l.stream)
}

func TestStreamSettingsThatLoseMessagesAreMended(t *testing.T) {
	r := newRig(t)
	s := r.raw()
	eventually(t, func() string {
		_, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: StreamName, Subjects: []string{"rankgate.ops.*"}, MaxAge: time.Hour, MaxMsgs: 10, Discard: jetstream.DiscardOld,
			AllowRollup: true,
		})
		if err != nil {
			return err.Error()
		}
		return ""
	})
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	mustAppend(t, l, b, add("1", "alice", 1))
	st, err := s.js.Stream(t.Context(), StreamName)
	if err != nil {
		t.Fatal(err)
	}
	if c := st.CachedInfo().Config; c.MaxAge != 0 || c.MaxMsgs != -1 || c.Discard != jetstream.DiscardNew || c.MaxBytes != 1<<30 || c.AllowRollup {
		t.Errorf("settings: %+v", c)
	}
}

// What cannot be changed and may lose operations is refused: nothing is confirmed on such a stream.
func TestStreamThatLosesMessagesForGoodIsRefused(t *testing.T) {
	for _, c := range []jetstream.StreamConfig{{AllowMsgTTL: true}, {PersistMode: jetstream.AsyncPersistMode}, {Storage: jetstream.MemoryStorage}} {
		r := newRig(t)
		c.Name, c.Subjects = StreamName, []string{"rankgate.ops.>"}
		eventually(t, func() string {
			if _, err := r.raw().js.CreateStream(t.Context(), c); err != nil {
				return err.Error()
			}
			return ""
		})
		l, _ := r.runLog(nil, testBoard("power", 1))
		eventually(t, func() string {
			if h := l.Health(); h.Reachable || !strings.Contains(h.Detail, "stream "+StreamName) {
				return fmt.Sprintf("%+v", h)
			}
			return ""
		})
	}
}

func TestProcessesThatCreateTheStreamsTogether(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	for i := range 4 {
		l, _ := r.runLog(nil, b)
		defer mustAppend(t, l, b, add(fmt.Sprint(i), "alice", 1))
	}
}
