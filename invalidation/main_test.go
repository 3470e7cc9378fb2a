package invalidation

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"rankgate/rankcore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var power = &rankcore.Board{ID: "power", Shards: 1, Freshness: time.Second}

// notes is a cache, and a store, that writes down what it is told.
type notes struct {
	mu       sync.Mutex
	evicted  []rankcore.Change
	suspects int
	reached  map[int]rankcore.Position // by shard, as told last
}

func (n *notes) Reached(_ rankcore.BoardID, r rankcore.Reached) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reached == nil {
		n.reached = map[int]rankcore.Position{}
	}
	for _, shard := range r.Shards {
		n.reached[shard] = r.At
	}
}

func (n *notes) shards() map[int]rankcore.Position {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.reached)
}

func (n *notes) Evict(c rankcore.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.evicted = append(n.evicted, c)
}

func (n *notes) Suspect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.suspects++
}

func (n *notes) changes() []rankcore.Change {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]rankcore.Change(nil), n.evicted...)
}

func (n *notes) suspicions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.suspects
}

func connect(t *testing.T, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	opts = append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectBufSize(-1),
		nats.PingInterval(time.Second),
	}, opts...)
	conn, err := nats.Connect(url, opts...)
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

// listen starts a listener and returns when its subscription stands.
func listen(t *testing.T, url string, opts ...nats.Option) (*Listener, *notes, *nats.Conn) {
	t.Helper()
	conn := connect(t, url, opts...)
	cache := &notes{}
	l := NewListener(ListenerConfig{Conn: conn, Boards: []*rankcore.Board{power}, Evictor: cache, Floors: cache, Registerer: prometheus.NewRegistry()})
	run(t, l.Run)
	eventually(t, "the subscriptions", func() bool { return conn.NumSubscriptions() == 2 })
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return l, cache, conn
}

func announce(t *testing.T, url string, every time.Duration) (*Announcer, *nats.Conn) {
	t.Helper()
	conn := connect(t, url)
	a := NewAnnouncer(AnnouncerConfig{Conn: conn, Every: every, Registerer: prometheus.NewRegistry()})
	run(t, a.Run)
	return a, conn
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

func at(seq uint64) rankcore.Position { return rankcore.Position{Seq: seq, Time: int64(seq) * 1000} }

func publish(t *testing.T, conn *nats.Conn, subject, payload string) {
	t.Helper()
	if err := conn.Publish(subject, []byte(payload)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}
