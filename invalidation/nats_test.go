package invalidation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

func TestChangesAndProgressCross(t *testing.T) {
	server := servers.NATS(t)
	l, cache, _ := listen(t, server.URL)
	a, _ := announce(t, server.URL, 50*time.Millisecond)
	a.Announce(rankcore.Change{Board: "power", To: at(3), Users: []rankcore.UserID{"abe", "日本/{}"}})
	if err := l.Applied(t.Context(), "power", at(3)); err != nil {
		t.Fatal(err)
	}
	changes := cache.changes()
	if len(changes) != 1 || len(changes[0].Users) != 2 || changes[0].Users[1] != "日本/{}" || changes[0].To != at(3) {
		t.Fatalf("evicted %+v", changes)
	}
	a.Progress(rankcore.Progress{Board: "power", Applied: at(4), CaughtUp: time.Now(), ShardsOut: 1})
	eventually(t, "progress", func() bool {
		p, _, ok := l.Progress("power")
		return ok && p.Applied == at(4) && p.ShardsOut == 1 && time.Since(p.CaughtUp) < time.Minute
	})
	if cache.suspicions() != 0 {
		t.Fatalf("suspected %d times while nothing was missed", cache.suspicions())
	}
}

// Who has waited for a position finds that what it changed is evicted, however beacons and broadcasts mix.
func TestPositionsFollowTheirChanges(t *testing.T) {
	server := servers.NATS(t)
	l, cache, _ := listen(t, server.URL)
	a, _ := announce(t, server.URL, time.Millisecond)
	for n := range uint64(100) {
		a.Announce(rankcore.Change{Board: "power", To: at(n + 1), Users: []rankcore.UserID{"abe"}})
		a.Progress(rankcore.Progress{Board: "power", Applied: at(n + 1), CaughtUp: time.Now()})
		if err := l.Applied(t.Context(), "power", at(n+1)); err != nil {
			t.Fatal(err)
		}
		changes := cache.changes()
		if len(changes) == 0 || changes[len(changes)-1].To != at(n+1) {
			t.Fatalf("position %d was told before its change", n+1)
		}
	}
}

// An operator sees how far behind a board is.
func TestBehindIsMeasured(t *testing.T) {
	reg := prometheus.NewRegistry()
	l := NewListener(ListenerConfig{Boards: []*rankcore.Board{power}, Evictor: &notes{}, Registerer: reg})
	behind := func() float64 {
		t.Helper()
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "rankgate_invalidation_behind_seconds" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	if n := behind(); !math.IsInf(n, 1) {
		t.Errorf("%v seconds behind before anything was heard", n)
	}
	l.boards["power"].beacon("core", rankcore.Progress{Board: "power", CaughtUp: time.Now().Add(-time.Minute)}, time.Now())
	if n := behind(); n < 60 || math.IsInf(n, 1) {
		t.Errorf("%v seconds behind, want a minute", n)
	}
}

// A process that does not apply a board any more leaves it to the one that does.
func TestWithdrawnProgressIsNotToldAgain(t *testing.T) {
	server := servers.NATS(t)
	l, _, _ := listen(t, server.URL)
	old, _ := announce(t, server.URL, 10*time.Millisecond)
	next, _ := announce(t, server.URL, 10*time.Millisecond)
	old.Progress(rankcore.Progress{Board: "power", Applied: at(9), CaughtUp: time.Now().Add(time.Hour)})
	if err := l.Applied(t.Context(), "power", at(9)); err != nil {
		t.Fatal(err)
	}
	old.Withdraw("power")
	next.Progress(rankcore.Progress{Board: "power", Applied: at(8), CaughtUp: time.Now()})
	eventually(t, "the other's progress alone", func() bool {
		p, _, ok := l.Progress("power")
		return ok && p.Applied == at(8)
	})
}

func TestBroadcastsAreCoalesced(t *testing.T) {
	server := servers.NATS(t)
	l, cache, _ := listen(t, server.URL)
	a, _ := announce(t, server.URL, time.Hour)
	const batches = 5000
	for i := range batches {
		a.Announce(rankcore.Change{Board: "power", To: at(uint64(i + 1)), Users: []rankcore.UserID{rankcore.UserID(fmt.Sprint("user", i%10))}})
	}
	if err := l.Applied(t.Context(), "power", at(batches)); err != nil {
		t.Fatal(err)
	}
	if n := len(cache.changes()); n > batches/10 {
		t.Fatalf("%d broadcasts for %d batches at once", n, batches)
	}
}

func TestHandWrittenOverNATS(t *testing.T) {
	server := servers.NATS(t)
	_, cache, _ := listen(t, server.URL)
	hand := connect(t, server.URL)
	publish(t, hand, "rankgate.invalidate.power", "garbage")
	publish(t, hand, "rankgate.invalidate.power", `{"users":["abe"]}`)
	publish(t, hand, "rankgate.invalidate.power", `{"top":true}`)
	eventually(t, "both changes", func() bool { return len(cache.changes()) == 2 })
	if c := cache.changes(); c[0].Users[0] != "abe" || !c[1].Top || cache.suspicions() != 0 {
		t.Fatalf("evicted %+v, %d suspicions", c, cache.suspicions())
	}
}

func TestSilenceAndReconnectAreSuspicious(t *testing.T) {
	server := servers.NATS(t)
	l, cache, _ := listen(t, server.URL)
	a, _ := announce(t, server.URL, 50*time.Millisecond)
	a.Progress(rankcore.Progress{Board: "power", Applied: at(1), CaughtUp: time.Now()})
	heard := func() (at time.Time) { _, at, _ = l.Progress("power"); return at }
	eventually(t, "a beacon", func() bool { return !heard().IsZero() })

	server.Freeze() // the connection stands, and nothing comes
	eventually(t, "suspicion by silence", func() bool { return cache.suspicions() > 0 })
	frozen := heard()
	server.Thaw()
	eventually(t, "a beacon after the thaw", func() bool { return heard().After(frozen) })

	before, killed := cache.suspicions(), heard()
	server.Kill()
	server.Restart()
	eventually(t, "suspicion by reconnect", func() bool { return cache.suspicions() > before })
	eventually(t, "a beacon after the restart", func() bool { return heard().After(killed) })
	a.Announce(rankcore.Change{Board: "power", To: at(2), All: true})
	eventually(t, "a broadcast after the restart", func() bool { return len(cache.changes()) > 0 })
}

// What is announced while NATS is away is dropped, does not block the applier, and leaves a gap.
func TestDropsLeaveAGap(t *testing.T) {
	server := servers.NATS(t)
	l, cache, listening := listen(t, server.URL)
	a, announcing := announce(t, server.URL, 50*time.Millisecond)
	a.Announce(rankcore.Change{Board: "power", To: at(1), All: true})
	eventually(t, "the first broadcast", func() bool { return len(cache.changes()) == 1 })
	server.Kill()
	eventually(t, "both to notice", func() bool { return !listening.IsConnected() && !announcing.IsConnected() })
	for i := range 1000 {
		a.Announce(rankcore.Change{Board: "power", To: at(uint64(i + 2)), All: true})
	}
	a.Progress(rankcore.Progress{Board: "power", Applied: at(1001)})
	eventually(t, "the drops", func() bool { return a.pending() == 0 })
	server.Restart()
	eventually(t, "the gap", func() bool { return counted(t, l.metrics.missed) > 0 })
}

// pending is how many notes wait to be sent.
func (a *Announcer) pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.changes) + len(a.moved)
}

// slow is a cache whose first eviction takes as long as the test wants.
type slow struct {
	notes
	begun, release chan struct{}
}

func (s *slow) Evict(c rankcore.Change) {
	if s.notes.Evict(c); len(s.changes()) == 1 {
		close(s.begun)
		<-s.release
	}
}

func TestSlowListenerNoticesWhatNATSDropped(t *testing.T) {
	server := servers.NATS(t)
	conn := connect(t, server.URL)
	cache := &slow{begun: make(chan struct{}), release: make(chan struct{})}
	run(t, NewListener(ListenerConfig{Conn: conn, Boards: []*rankcore.Board{power}, Evictor: cache}).Run)
	eventually(t, "the subscriptions", func() bool { return conn.NumSubscriptions() == 2 })
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	hand := connect(t, server.URL)
	publish(t, hand, "rankgate.invalidate.power", `{"all":true}`)
	<-cache.begun
	for range 3 * backlog { // without numbers: only NATS knows what is missing
		if err := hand.Publish("rankgate.invalidate.power", []byte(`{"all":true}`)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, hand, "rankgate.invalidate.power", `{"all":true}`)
	if err := conn.Flush(); err != nil { // everything has arrived, or was dropped
		t.Fatal(err)
	}
	close(cache.release)
	eventually(t, "suspicion", func() bool { return cache.suspicions() > 0 })
}

func TestAppliedObeysItsCaller(t *testing.T) {
	server := servers.NATS(t)
	l, _, _ := listen(t, server.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := l.Applied(ctx, "power", at(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the caller's deadline", err)
	}
}
