package cachetier_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"rankgate/cachetier"
	"rankgate/degrade"
	"rankgate/invalidation"
	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
)

// What is written is seen by a reader on the far side of a real NATS, and when NATS is gone the answers say
// so, and are no older than the bound.
func TestReadPathOverNATS(t *testing.T) {
	server := servers.NATS(t)
	w := newWriter(t, server.URL)
	tier, listener := newReader(t, server.URL, w)
	w.add("abe", 5)
	waitApplied(t, listener, w)
	eventually(t, "a fresh answer", func() bool { return scoreOf(t, tier, w.board).Status == rankcore.Fresh })
	for i := range 100 {
		w.add("abe", 1)
		waitApplied(t, listener, w)
		if got := scoreOf(t, tier, w.board); got.Score != rankcore.Score(6+i) {
			t.Fatalf("after write %d: %+v", i, got)
		}
	}

	server.Kill()
	w.add("abe", 1000)
	told := time.Now()
	eventually(t, "stale, the log is out of reach", func() bool {
		got := scoreOf(t, tier, w.board)
		if got.Status == rankcore.Fresh && got.Score != 1105 && got.AsOf.Sub(told) > w.board.Freshness {
			t.Fatalf("called fresh past the bound: %+v", got)
		}
		return got.Status == rankcore.Stale && got.Reason == rankcore.LogUnreachable && got.Score == 1105
	})
	server.Restart()
	eventually(t, "fresh again", func() bool { return scoreOf(t, tier, w.board).Status == rankcore.Fresh })
}

// writer is an applier without a log: it applies to a store and announces.
type writer struct {
	t         *testing.T
	board     *rankcore.Board
	store     *memstore.Store
	announcer *invalidation.Announcer

	mu sync.Mutex // guards at; held while telling of it, so that positions are told in order
	at rankcore.Position
}

func newWriter(t *testing.T, url string) *writer {
	t.Helper()
	board := &rankcore.Board{
		ID: "power", Shards: 1, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
		Head: 10, Dedupe: time.Minute, Freshness: time.Second,
	}
	store, err := memstore.New(memstore.Config{Boards: []*rankcore.Board{board}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, board: board, store: store}
	w.announcer = invalidation.NewAnnouncer(invalidation.AnnouncerConfig{Conn: connect(t, url), Every: 50 * time.Millisecond})
	run(t, w.announcer.Run)
	run(t, func(ctx context.Context) error { // an applier at the end of its log says so again and again
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				w.mu.Lock()
				w.announcer.Progress(rankcore.Progress{Board: board.ID, Applied: w.at, CaughtUp: time.Now()})
				w.mu.Unlock()
			case <-ctx.Done():
				return nil
			}
		}
	})
	return w
}

func (w *writer) add(user rankcore.UserID, n rankcore.Score) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	to := rankcore.Position{Seq: w.at.Seq + 1, Time: now.UnixNano()}
	op := rankcore.PlacedOp{
		Op: rankcore.Op{User: user, Value: n}, Stored: now.UnixMilli(), Seasons: rankcore.NewCalendar(w.board).Seasons(now, now),
	}
	result := w.store.Apply(w.t.Context(), w.board, []rankcore.Step{{From: w.at, To: to, Ops: []rankcore.PlacedOp{op}}})[0]
	if result.State != rankcore.StepApplied {
		w.t.Fatalf("apply: %+v", result)
	}
	w.at = to
	w.announcer.Announce(rankcore.Change{Board: w.board.ID, To: to, Users: []rankcore.UserID{user}})
}

// newReader is a gateway's read path, with a connection of its own.
func newReader(t *testing.T, url string, w *writer) (*cachetier.Tier, *invalidation.Listener) {
	t.Helper()
	link := &linked{}
	tier, err := cachetier.New(cachetier.Config{
		Source: degrade.NewGuard(degrade.Config{Source: w.store, Timeout: patience}), Progress: link, LoadTimeout: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tier.Close)
	link.Listener = invalidation.NewListener(invalidation.ListenerConfig{
		Conn: connect(t, url), Boards: []*rankcore.Board{w.board}, Evictor: tier,
	})
	run(t, link.Run)
	return tier, link.Listener
}

// linked ties the knot: the tier asks the listener, which evicts from the tier.
type linked struct{ *invalidation.Listener }

func waitApplied(t *testing.T, l *invalidation.Listener, w *writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := l.Applied(ctx, w.board.ID, w.at); err != nil {
		t.Fatalf("waiting for %v: %v", w.at, err)
	}
}

func scoreOf(t *testing.T, tier *cachetier.Tier, b *rankcore.Board) *rankcore.Standing {
	t.Helper()
	standing, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: "abe"})
	if err != nil {
		t.Fatal(err)
	}
	return standing
}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// run runs what blocks until the test is over, and waits for its end.
func run(t *testing.T, part func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// eventually waits for a condition that nothing signals.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within 10 s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}
