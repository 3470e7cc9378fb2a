package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/aggregate"
	"rankgate/rankcore/redisstore"
	"rankgate/rankcore/storetest"
)

// remote is a gateway's store, and the core whose count index it asks over NATS. Steps go through the core.
type remote struct {
	followed // its store is the gateway's, its follower the core's
	core     *indexed
	counter  *aggregate.Counter
	server   *aggregate.Server
	asked    *prometheus.Registry
	found    map[rankcore.BoardID]bool
}

func openRemote(tb testing.TB, redis, url string, boards ...*rankcore.Board) *remote {
	tb.Helper()
	r := &remote{core: openIndexed(tb, redis, boards...), asked: prometheus.NewRegistry(), found: map[rankcore.BoardID]bool{}}
	r.Follower, r.await = r.core.Follower, r.ready
	r.server = aggregate.NewServer(aggregate.ServerConfig{Conn: connect(tb, url), Boards: boards, Shards: "here", Source: r.core.Store, Index: r.core.index})
	r.counter = aggregate.NewCounter(aggregate.CounterConfig{Conn: connect(tb, url), Boards: boards, Shards: "here", Registerer: r.asked})
	var err error
	r.Store, err = redisstore.New(redisstore.Config{
		URL: redis, ReadTimeout: patience, StepTimeout: patience, Log: slog.New(slog.DiscardHandler), Counter: r.counter,
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.server.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, r.Store.Close()); err != nil {
			tb.Error(err)
		}
	})
	r.lead(boards...)
	return r
}

func connect(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect(url, nats.ReconnectBufSize(-1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// lead makes the core one that applies the boards.
func (r *remote) lead(boards ...*rankcore.Board) {
	for _, b := range boards {
		r.server.Progress(rankcore.Progress{Board: b.ID, CaughtUp: time.Now()})
	}
}

// results is how often asking ended so.
func (r *remote) results(result string) float64 {
	r.core.tb.Helper()
	families, err := r.asked.Gather()
	if err != nil {
		r.core.tb.Fatal(err)
	}
	for _, m := range families[0].GetMetric() {
		if m.GetLabel()[0].GetValue() == result {
			return m.GetCounter().GetValue()
		}
	}
	r.core.tb.Fatalf("no result %s", result)
	return 0
}

// find waits until the gateway has an answer of the core.
func (r *remote) find(b *rankcore.Board) {
	r.core.tb.Helper()
	for range 60_000 {
		r.core.ready(b)
		if _, err := r.counter.Segments(r.core.tb.Context(), b.ID, "all"); err == nil {
			r.found[b.ID] = true
			return
		}
		<-time.After(time.Millisecond)
	}
	r.core.tb.Fatalf("the core never answers: %+v", r.core.index.State(b.ID))
}

// ready waits until the core can answer.
func (r *remote) ready(b *rankcore.Board) {
	if r.core.ready(b); !r.found[b.ID] {
		r.find(b)
	}
}

// TestStoreWithRemoteIndex: a core's index must not change an answer.
func TestStoreWithRemoteIndex(t *testing.T) {
	server, log := servers.Redis(t), servers.NATS(t)
	answered := 0.0
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		anew(boards)
		server.Do("FLUSHALL")
		r := openRemote(t, server.URL, log.URL, boards...)
		t.Cleanup(func() { answered += r.results("answered") })
		return r
	})
	if t.Logf("%v answers came from the core", answered); answered == 0 {
		t.Error("no answer came from the core")
	}
}

// TestRemoteIndexAgreesWithShards: random boards and operations, steps behind the index's back, a core that goes and
// comes. Whoever counts, the answer is what the shards say.
func TestRemoteIndexAgreesWithShards(t *testing.T) {
	server, log := servers.Redis(t), servers.NATS(t)
	n, answered, unheard := 0, 0.0, 0.0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b := board(rankcore.BoardID(fmt.Sprint("remote-", n)))
		b.Order = rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order")
		b.Ties = rapid.SampledFrom([]rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst}).Draw(rt, "ties")
		b.Shards = rapid.SampledFrom([]int{1, 4, 16}).Draw(rt, "shards")
		b.Freshness = time.Nanosecond
		r, plain := openRemote(t, server.URL, log.URL, b), open(t, server.URL)
		w := newWriter(t, r.core.Store, b)
		w.to = r
		w.write(anyOps(60).Draw(rt, "there before")...)
		r.ready(b)
		leads := true
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0: // nobody applies the board for a while
				r.server.Withdraw(b.ID)
				leads = false
			case 1: // another core takes a step
				w.to = plain
				w.write(anyOps(30).Draw(rt, "operations")...)
				w.to = r
			default:
				w.write(anyOps(30).Draw(rt, "operations")...)
				r.lead(b)
				leads = true
			}
			r.Positions(t.Context(), b) // the heartbeat
			if leads && rapid.Bool().Draw(rt, "wait for it") {
				r.find(b)
			}
			for range 12 {
				q := rankcore.RankQuery{Board: b, Season: "all", User: user(rapid.IntRange(0, 40).Draw(rt, "asked")), Precision: rankcore.Exact}
				want, err1 := plain.Rank(t.Context(), q)
				got, err2 := r.Store.Rank(t.Context(), q)
				if !errors.Is(err2, err1) || err1 == nil && (got.Rank != want.Rank || got.Tied != want.Tied || got.Total != want.Total ||
					got.Percentile != want.Percentile || got.Version != want.Version || got.Score != want.Score) {
					rt.Fatalf("%s: %+v, %v\nby the shards: %+v, %v", q.User, got, err2, want, err1)
				}
				q.Precision = rankcore.Approx
				if got, err := r.Store.Rank(t.Context(), q); err1 == nil && (err != nil || got.Low > want.Rank || got.High < want.Rank || got.Total != want.Total) {
					rt.Fatalf("about %s: %+v, %v\nby the shards: %+v", q.User, got, err, want)
				}
			}
			q := rankcore.TopQuery{Board: b, Season: "all", Limit: rapid.IntRange(1, 50).Draw(rt, "limit")}
			want, err1 := plain.Top(t.Context(), q)
			got, err2 := r.Store.Top(t.Context(), q)
			if err1 != nil || err2 != nil || fmt.Sprint(got.Entries) != fmt.Sprint(want.Entries) || got.Total != want.Total {
				rt.Fatalf("top %d: %+v, %v\nby the shards: %+v, %v", q.Limit, got, err2, want, err1)
			}
		}
		answered, unheard = answered+r.results("answered"), unheard+r.results("unheard")
	})
	if t.Logf("%v answers came from the core, %v times nobody listened", answered, unheard); answered == 0 {
		t.Error("no answer came from the core")
	}
}

// commands is how many commands Redis has run, those of scripts too.
func commands(t *testing.T, r *servers.RedisServer) (n int) {
	t.Helper()
	info, _ := r.Do("INFO", "commandstats").(string)
	for _, found := range regexp.MustCompile(`cmdstat_[^:]*:calls=([0-9]+)`).FindAllStringSubmatch(info, -1) {
		calls, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		n += calls
	}
	return n
}

// TestRemoteRankIsOneSmallRead: an exact rank of a board of 256 shards costs Redis what its user's own shard does,
// and without the core it is the same rank.
func TestRemoteRankIsOneSmallRead(t *testing.T) {
	server, log := servers.Redis(t), servers.NATS(t)
	b := board("small-read")
	b.Shards = 256
	r := openRemote(t, server.URL, log.URL, b)
	w := newWriter(t, r.core.Store, b)
	w.to = r
	w.fill(2000)
	const asked = 20
	ask := func() (ranks []int64, each float64) {
		t.Helper()
		before := commands(t, server)
		for i := range asked {
			st, err := r.Store.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: user(i), Precision: rankcore.Exact})
			if err != nil {
				t.Fatal(err)
			}
			ranks = append(ranks, st.Rank)
		}
		return ranks, float64(commands(t, server)-before) / asked
	}
	var byCore []int64
	for tries := 0; ; tries++ {
		r.find(b)
		before := r.results("answered")
		ranks, each := ask()
		if r.results("answered")-before == asked { // on a busy machine some answers are late
			if t.Logf("%.1f commands for a rank by the core", each); each > 16 {
				t.Errorf("%.1f commands for a rank", each)
			}
			byCore = ranks
			break
		}
		if tries > 1000 {
			t.Fatal("the core answers too late")
		}
	}
	r.server.Withdraw(b.ID)
	unheard := r.results("unheard")
	for tries := 0; r.results("unheard") == unheard; tries++ {
		if _, err := r.counter.Segments(t.Context(), b.ID, "all"); err == nil {
			r.core.ready(b)
		}
		if <-time.After(time.Millisecond); tries > 60_000 {
			t.Fatal("a core that does not apply the board answers on")
		}
	}
	ranks, each := ask()
	t.Logf("%.1f commands for a rank by the shards", each)
	if fmt.Sprint(ranks) != fmt.Sprint(byCore) {
		t.Errorf("by the core %v, by the shards %v", byCore, ranks)
	}
}

// TestRemoteIndexTellsWhatChanged: a question about a shard that has changed since, or that has shown what no step
// brought, is answered as the core's own index answers it; a step under way is waited for, or else the shards are asked.
func TestRemoteIndexTellsWhatChanged(t *testing.T) {
	server, log := servers.Redis(t), servers.NATS(t)
	b := board("changed")
	r := openRemote(t, server.URL, log.URL, b)
	w := newWriter(t, r.core.Store, b)
	w.to = r
	w.write(set("abe", 1), set("bob", 2))
	old := w.at
	w.write(set("abe", 3))
	q := rankcore.AboveQuery{Board: b, Season: "all", Key: b.Order.Key(3), Shard: b.Shard("abe"), Changed: w.at}
	later := rankcore.Position{Seq: w.at.Seq + 1, Time: w.at.Time + int64(time.Millisecond)}
	for _, changed := range []rankcore.Position{w.at, old, later} {
		q.Changed = changed
		r.core.ready(b)
		want, wantErr := r.core.index.Above(t.Context(), q)
		for tries := 0; ; tries++ {
			late := r.results("late")
			r.find(b)
			got, err := r.counter.Above(t.Context(), q)
			if errors.Is(err, wantErr) && (err != nil || got == want) {
				break
			}
			if r.results("late") == late || tries > 1000 {
				t.Fatalf("changed at %v: %+v, %v, the index itself %+v, %v", changed, got, err, want, wantErr)
			}
		}
	}
	if moved, unknown := r.results("moved"), r.results("unknown"); moved == 0 || unknown == 0 {
		t.Errorf("%v times moved, %v unknown", moved, unknown)
	}
	for i, slow := range []bool{false, true} {
		r.find(b)
		happened, answer := make(chan struct{}), make(chan struct{})
		r.core.steps.hold = func() { close(happened); <-answer }
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			w.write(set("abe", int64(1-i)))
		}()
		<-happened
		if !slow {
			close(answer)
		}
		st, err := r.Store.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: "abe", Precision: rankcore.Exact})
		if slow {
			close(answer)
		}
		<-wrote
		r.core.steps.hold = nil
		if err != nil || st.Rank != 2 || st.Score != rankcore.Score(1-i) {
			t.Errorf("with a step under way: %+v, %v", st, err)
		}
	}
}
