package ingest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// external is a log and an applier on servers of their own.
func external(t *testing.T, url string, replicas int, b *rankcore.Board, m *model) (*Log, *Applier) {
	t.Helper()
	r := &rig{t: t, logger: testLogger(t)}
	conn, err := Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	l, _ := r.runLog(func(c *LogConfig) { c.Conn, c.Replicas = conn, replicas }, b)
	a, _ := r.runApplier(l, b, m)
	return l, a
}

// underLoad appends until all is done, while faults happen after every part of it.
func underLoad(t *testing.T, l *Log, b *rankcore.Board, want map[string]int64, faults ...func()) {
	t.Helper()
	for i, fault := range faults {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fill(t, l, b, fmt.Sprintf("part%d-", i), 60, want)
		}()
		fault()
		<-done
	}
}

func TestServerKilledAndFrozenUnderLoad(t *testing.T) {
	n := servers.NATS(t)
	b := testBoard("power", 8)
	m := newModel(b)
	l, a := external(t, n.URL, 1, b, m)
	want := map[string]int64{}
	underLoad(t, l, b, want,
		func() { n.Kill(); n.Restart() },
		func() {
			n.Freeze()
			_, err := l.Append(t.Context(), b, []rankcore.Op{add("frozen", "alice", 1)}) // unknown: it may be stored later
			if err == nil {
				t.Error("a frozen server confirmed an append")
			}
			n.Thaw()
		},
		func() { n.Kill(); n.Restart() })
	mustAppend(t, l, b, add("frozen", "alice", 1))
	want["alice"] = 1
	m.scored(t, want)
	settled(t, a, l.stream)
	if a.Status().LogLost {
		t.Error("nothing was lost")
	}
}

// An append that is not answered is sent again under the same message id, so that it is stored once at most.
func TestUnansweredAppendIsStoredOnce(t *testing.T) {
	n := servers.NATS(t)
	b := testBoard("power", 1)
	r := &rig{t: t, logger: testLogger(t)}
	conn, err := Dial(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	l, _ := r.runLog(func(c *LogConfig) { c.Conn = conn }, b)
	mustAppend(t, l, b, add("1", "alice", 1))
	n.Freeze()
	if _, err := l.Append(t.Context(), b, []rankcore.Op{add("2", "alice", 1)}); !errors.Is(err, ErrLogUnavailable) {
		t.Errorf("a frozen server: %v", err)
	}
	n.Thaw()
	mustAppend(t, l, b, add("3", "alice", 1)) // on the same connection: what was sent before is there now
	if n := logged(t, l.stream, b, func(m rankcore.Message) bool { return len(m.Ops) > 0 && m.Ops[0].ID == "2" }); n != 1 {
		t.Errorf("one append is %d messages", n)
	}
}

func TestClusterOfThreeLosesItsLeader(t *testing.T) {
	cluster := servers.NATSCluster(t, 3)
	b := testBoard("power", 8)
	m := newModel(b)
	l, a := external(t, cluster.URL, 3, b, m)
	want := map[string]int64{}
	fill(t, l, b, "before", 30, want)
	underLoad(t, l, b, want, func() {
		stepDown(t, l.stream)
	}, func() {
		v, err := l.stream.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, node := range cluster.Nodes {
			if fmt.Sprintf("n%d", i+1) == v.leader {
				node.Kill()
				node.Restart()
			}
		}
	})
	m.scored(t, want)
	settled(t, a, l.stream)
	if a.Status().LogLost {
		t.Error("another leader is not a loss")
	}
}

// stepDown makes another server the stream's leader.
func stepDown(t *testing.T, s stream) {
	t.Helper()
	eventually(t, func() string {
		ctx, cancel := context.WithTimeout(t.Context(), askPatience)
		defer cancel()
		var err error
		var reply *nats.Msg
		if reply, err = s.conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+StreamName, nil); err != nil {
			return err.Error()
		}
		t.Logf("step down: %s", reply.Data)
		return ""
	})
}
