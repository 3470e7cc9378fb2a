package aggregate

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
	"rankgate/rankcore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, nats.ReconnectBufSize(-1), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// counted is what a counter stands at.
func counted(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(len(families), err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

// core is a store and a server that applies boards to it.
type core struct {
	*memstore.Store
	server *Server
	reads  atomic.Int64
}

func (c *core) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	c.reads.Add(1)
	return c.Store.Top(ctx, q)
}

func (c *core) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	defer c.told(b)
	return c.Store.Apply(ctx, b, steps)
}

func (c *core) Reset(ctx context.Context, b *rankcore.Board, shard int) error {
	defer c.told(b)
	return c.Store.Reset(ctx, b, shard)
}

func (c *core) told(b *rankcore.Board) {
	c.server.Announce(rankcore.Change{Board: b.ID, All: true})
	c.server.Progress(rankcore.Progress{Board: b.ID, CaughtUp: time.Now()})
}

func startCore(t *testing.T, url string, every time.Duration, boards ...*rankcore.Board) *core {
	t.Helper()
	store, err := memstore.New(memstore.Config{Boards: boards})
	if err != nil {
		t.Fatal(err)
	}
	c := &core{Store: store}
	c.server = NewServer(ServerConfig{Conn: connect(t, url), Boards: boards, Shards: "model", Source: c, Every: every})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return c
}

// remote reads through a client, and writes to the core.
type remote struct {
	*core
	client *Client
}

func (r remote) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	return r.client.Top(ctx, q)
}

// Rows that the core keeps are the rows that the store would have answered.
func TestClientOverServerIsAStore(t *testing.T) {
	server := servers.NATS(t)
	var answered float64
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		c := startCore(t, server.URL, time.Nanosecond, boards...)
		client := NewClient(ClientConfig{Conn: connect(t, server.URL), Boards: boards, Shards: "model", Source: c.Store, Every: time.Nanosecond})
		t.Cleanup(func() { answered += counted(t, client.metrics.answered) })
		return remote{c, client}
	})
	if t.Logf("%v answers came from the core", answered); answered == 0 {
		t.Error("no answer came from the core")
	}
}

var power = &rankcore.Board{
	ID: "power", Shards: 1, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC, Head: 100, Freshness: time.Second,
}

// change applies one operation, at a position of its own.
func (c *core) change(t *testing.T, n uint64) {
	t.Helper()
	at := func(n uint64) rankcore.Position {
		if n == 0 {
			return rankcore.Position{}
		}
		return rankcore.Position{Seq: n, Time: int64(n) * 1e9}
	}
	op := rankcore.Op{User: rankcore.UserID(fmt.Sprint("user", n)), Kind: rankcore.OpAdd, Value: 1}
	step := rankcore.Step{From: at(n - 1), To: at(n), Ops: []rankcore.PlacedOp{{Op: op, Seasons: rankcore.NewCalendar(power).Seasons(at(n).At(), at(n).At())}}}
	if got := c.Apply(t.Context(), power, []rankcore.Step{step})[0]; got.State != rankcore.StepApplied {
		t.Fatalf("step %d: %+v", n, got)
	}
}

// answers asks until the client's rows come from the core.
func answers(t *testing.T, c *Client, q rankcore.TopQuery) *rankcore.Page {
	t.Helper()
	look, late := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer look.Stop()
	for {
		was := counted(t, c.metrics.answered)
		page, err := c.Top(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if counted(t, c.metrics.answered) > was {
			return page
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatal("the core never answers")
		}
	}
}

func TestManyGatewaysCostOneReading(t *testing.T) {
	server := servers.NATS(t)
	c := startCore(t, server.URL, DefaultEvery, power)
	c.change(t, 1)
	var clients []*Client
	for range 5 {
		clients = append(clients, NewClient(ClientConfig{Conn: connect(t, server.URL), Boards: []*rankcore.Board{power}, Shards: "model", Source: c.Store}))
	}
	for _, limit := range []int{0, 1, 10, 100} {
		for _, client := range clients {
			page := answers(t, client, rankcore.TopQuery{Board: power, Season: "all", Limit: limit})
			if page.Total != 1 || len(page.Entries) != min(limit, 1) || page.Version.Seq != 1 {
				t.Errorf("limit %d: %+v", limit, page)
			}
		}
	}
	late := func() (n int64) { // who was answered too late on a busy machine has read the shards, and asks for more
		for _, client := range clients {
			n += int64(counted(t, client.metrics.late))
		}
		return n
	}
	if n := c.reads.Load(); n > 1+late() {
		t.Errorf("%d readings for five gateways and four lengths", n)
	}
	c.change(t, 2)
	for _, client := range clients {
		if page := answers(t, client, rankcore.TopQuery{Board: power, Season: "all", Limit: 10}); page.Total != 2 {
			t.Errorf("after a change: %+v", page)
		}
	}
	if n := c.reads.Load(); n < 2 || n > 2+late() {
		t.Errorf("%d readings after a change, want 2", n)
	}
	before, since := c.reads.Load(), time.Now()
	page := answers(t, clients[0], rankcore.TopQuery{Board: power, Season: "all", Limit: 10, Since: since})
	if c.reads.Load() == before || page.AsOf.Before(since) || page.AsOf.After(time.Now()) {
		t.Errorf("asked for what was read after %v: as of %v, %d readings", since, page.AsOf, c.reads.Load()-before)
	}
}

// Without a core, with one that has older rows, and with one whose applier is behind, the shards are read.
func TestShardsAreReadWhereTheCoreIsNoHelp(t *testing.T) {
	server := servers.NATS(t)
	old, next := startCore(t, server.URL, time.Nanosecond, power), startCore(t, server.URL, time.Nanosecond, power)
	client := NewClient(ClientConfig{Conn: connect(t, server.URL), Boards: []*rankcore.Board{power}, Shards: "model", Source: next.Store, Every: time.Nanosecond})
	top := rankcore.TopQuery{Board: power, Season: "all", Limit: 10}
	version := func() uint64 {
		t.Helper()
		page, err := client.Top(t.Context(), top)
		if err != nil {
			t.Fatal(err)
		}
		return page.Version.Seq
	}
	next.Store.Apply(t.Context(), power, []rankcore.Step{{To: rankcore.Position{Seq: 1, Time: 1}}}) // nobody leads
	if got := version(); got != 0 || counted(t, client.metrics.unheard) == 0 {
		t.Errorf("version %d, and nobody was found to be away", got)
	}
	client.boards["power"].rest.until.Store(0)
	old.change(t, 1)
	if got := answers(t, client, top).Version.Seq; got != 1 {
		t.Fatalf("version %d", got)
	}
	// Another core has gone on. This one does not know it yet, as when it was frozen, but its answers are older.
	client.boards["power"].saw("all", rankcore.Position{Seq: 5, Time: 5e9}, time.Now())
	before := counted(t, client.metrics.older)
	if got := version(); got != 0 || counted(t, client.metrics.older) != before+1 {
		t.Errorf("version %d: an older one was answered", got)
	}
	// What the shards themselves show is what is, though it be older: then the core's is not older any more.
	if got := answers(t, client, top).Version.Seq; got != 1 {
		t.Errorf("version %d from the core, after the shards went back", got)
	}
	old.server.Progress(rankcore.Progress{Board: "power", CaughtUp: time.Now().Add(-power.Freshness)})
	before = counted(t, client.metrics.older)
	version()
	if counted(t, client.metrics.older) != before+1 {
		t.Error("a core whose applier is behind was believed")
	}
	old.server.Progress(rankcore.Progress{Board: "power", CaughtUp: time.Now(), ShardsOut: 1})
	version()
	if counted(t, client.metrics.refused) == 0 {
		t.Error("a core with a shard out was believed")
	}
	old.server.Withdraw("power")
	unheard := counted(t, client.metrics.unheard)
	for give := time.Now().Add(20 * time.Second); counted(t, client.metrics.unheard) == unheard; {
		if version(); time.Now().After(give) {
			t.Fatal("a core that does not apply the board answers on")
		}
	}
}

// As_of never goes back, however long questions are on their way, and whoever read the rows.
func TestAsOfNeverGoesBack(t *testing.T) {
	b := &asked{seen: map[rankcore.SeasonID]sighting{}}
	at := func(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }
	for i, step := range []struct {
		own         bool
		least, most int
		want        int // -1: refused
	}{
		{false, 10, 12, 10},
		{false, 8, 11, 10}, // the same rows, after a longer way
		{false, 5, 9, -1},
		{true, 50, 0, 0},
		{false, 20, 22, -1},
		{false, 49, 51, 50},
		{true, 30, 0, 0}, // one that began earlier and took longer
		{false, 60, 61, 60},
	} {
		if step.own {
			b.saw("all", rankcore.Position{}, at(step.least))
			continue
		}
		got, ok := b.admit("all", rankcore.Position{}, at(step.least), at(step.most))
		if ok != (step.want >= 0) || ok && !got.Equal(at(step.want)) {
			t.Errorf("step %d: %v, %v", i, got.Sub(at(0)), ok)
		}
	}
	b.saw("all", rankcore.Position{}, at(70))
	if got := b.since(rankcore.TopQuery{Season: "all", Since: at(40)}); !got.Equal(at(70)) {
		t.Errorf("what was read here is not asked for: %v", got)
	}
}

// A server that hangs costs one question a while, and no reader an answer.
func TestAFrozenCoreIsAskedSeldom(t *testing.T) {
	server := servers.NATS(t)
	silent := connect(t, server.URL)
	var heard atomic.Int64
	if _, err := silent.Subscribe(headSubject("model", "power"), func(*nats.Msg) { heard.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if err := silent.Flush(); err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Boards: []*rankcore.Board{power}})
	if err != nil {
		t.Fatal(err)
	}
	store.Apply(t.Context(), power, []rankcore.Step{{To: rankcore.Position{Seq: 1, Time: 1}}})
	client := NewClient(ClientConfig{Conn: connect(t, server.URL), Boards: []*rankcore.Board{power}, Shards: "model", Source: store, Every: time.Nanosecond})
	for range 100 {
		if _, err := client.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: 10}); err != nil {
			t.Fatal(err)
		}
	}
	if late := counted(t, client.metrics.late); late < 1 || late >= 100 {
		t.Errorf("asked %v times", late)
	}
}
