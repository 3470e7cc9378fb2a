package memstore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// memberCount is another with go test -run '^$' -bench . ./rankcore/memstore -args -members 10000000.
var memberCount = flag.Int("members", 1_000_000, "members of the board that is measured")

// crowd is a board of many members over 16 shards, and what is needed to go on writing it.
type crowd struct {
	store *Store
	board *rankcore.Board
	at    rankcore.Position
	rand  *rand.Rand
	bytes int // of the ids
}

func benchBoard(t rankcore.Ties) *rankcore.Board {
	return &rankcore.Board{
		ID: "crowd", Update: rankcore.UpdateSet, Ties: t, Shards: 16, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
		Head: 1000, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
}

func newCrowd(tb testing.TB, dir string, t rankcore.Ties, members int) *crowd {
	tb.Helper()
	c := &crowd{board: benchBoard(t), rand: rand.New(rand.NewPCG(1, 2)), at: rankcore.Position{Time: time.Now().UnixNano()}}
	var err error
	if c.store, err = New(Config{Dir: dir, Boards: []*rankcore.Board{c.board}}); err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < members; i += 500 {
		ops := make([]rankcore.PlacedOp, 0, 500)
		for j := i; j < min(i+500, members); j++ {
			ops = append(ops, c.set(j))
			c.bytes += len(ops[len(ops)-1].User)
		}
		c.feed(tb, ops)
	}
	return c
}

var allTime = []rankcore.Season{{ID: "all", Kind: rankcore.All}}

func crowdUser(i int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("player-%08d", i)) }

// set gives a member a score it hardly has yet, of some 5 M that are possible.
func (c *crowd) set(i int) rankcore.PlacedOp {
	return rankcore.PlacedOp{
		Op:      rankcore.Op{User: crowdUser(i), Kind: rankcore.OpSet, Value: rankcore.Score(c.rand.ExpFloat64() * 1e6)},
		Seasons: allTime,
	}
}

// sets are n such operations on any of the first members.
func (c *crowd) sets(n, members int) []rankcore.PlacedOp {
	ops := make([]rankcore.PlacedOp, n)
	for i := range ops {
		ops[i] = c.set(c.rand.IntN(members))
	}
	return ops
}

// feed takes operations in on all shards, as one message.
func (c *crowd) feed(tb testing.TB, ops []rankcore.PlacedOp) {
	tb.Helper()
	to := rankcore.Position{Seq: c.at.Seq + 1, Time: c.at.Time + int64(time.Millisecond)}
	steps := make([]rankcore.Step, c.board.Shards)
	for i := range steps {
		from := c.at
		if c.at.Seq == 0 {
			from = rankcore.Position{}
		}
		steps[i] = rankcore.Step{Shard: i, From: from, To: to}
	}
	for i, op := range ops {
		op.Arrival = c.board.Arrival(time.Unix(0, 0), to.Seq, i%rankcore.MaxOps)
		op.Stored = to.At().UnixMilli()
		s := c.board.Shard(op.User)
		steps[s].Ops = append(steps[s].Ops, op)
	}
	for _, r := range c.store.Apply(tb.Context(), c.board, steps) {
		if r.State != rankcore.StepApplied {
			tb.Fatalf("step: %+v", r)
		}
	}
	c.at = to
}

// bothTies runs a benchmark on boards whose ties share and on others.
func bothTies(b *testing.B, run func(b *testing.B, t rankcore.Ties)) {
	for _, t := range []rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst} {
		b.Run("ties="+t.String(), func(b *testing.B) { run(b, t) })
	}
}

func BenchmarkUpdate(b *testing.B) {
	bothTies(b, func(b *testing.B, t rankcore.Ties) {
		c := newCrowd(b, "", t, *memberCount)
		for _, ids := range []bool{false, true} {
			b.Run(fmt.Sprintf("ids=%v", ids), func(b *testing.B) {
				batch, n := make([]rankcore.PlacedOp, 500), 0
				for b.Loop() {
					op := &batch[n%len(batch)]
					*op = c.set(c.rand.IntN(*memberCount))
					if ids {
						op.ID = fmt.Sprintf("event-%d", n)
					}
					if n++; n%len(batch) == 0 {
						c.feed(b, batch)
					}
				}
			})
		}
	})
}

func BenchmarkRank(b *testing.B) {
	bothTies(b, func(b *testing.B, t rankcore.Ties) {
		c := newCrowd(b, "", t, *memberCount)
		for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx} {
			b.Run(p.String(), func(b *testing.B) { c.benchRank(b, p) })
		}
	})
}

// BenchmarkRankInOneTie is the rank in a tie of all members.
func BenchmarkRankInOneTie(b *testing.B) {
	bothTies(b, func(b *testing.B, t rankcore.Ties) {
		c := newCrowd(b, "", t, 0)
		for i := 0; i < *memberCount; i += 500 {
			ops := make([]rankcore.PlacedOp, 500)
			for j := range ops {
				ops[j] = c.set(i + j)
				ops[j].Value = 7
			}
			c.feed(b, ops)
		}
		c.benchRank(b, rankcore.Exact)
	})
}

func (c *crowd) benchRank(b *testing.B, p rankcore.Precision) {
	b.ReportAllocs()
	for b.Loop() {
		q := rankcore.RankQuery{Board: c.board, Season: "all", User: crowdUser(c.rand.IntN(*memberCount)), Precision: p}
		if _, err := c.store.Rank(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRankDuringWrites tells how long a rank takes while one applier writes as fast as it can, in
// messages of 8,000 operations, about 500 for each shard.
func BenchmarkRankDuringWrites(b *testing.B) {
	c := newCrowd(b, "", rankcore.TiesShared, *memberCount)
	stop, stopped := make(chan struct{}), make(chan struct{})
	writes := 0
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				c.feed(b, c.sets(8000, *memberCount))
				writes += 8000
			}
		}
	}()
	var took []time.Duration
	users := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		began := time.Now()
		q := rankcore.RankQuery{Board: c.board, Season: "all", User: crowdUser(users.IntN(*memberCount))}
		if _, err := c.store.Rank(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	close(stop)
	<-stopped
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
}

func BenchmarkTop(b *testing.B) {
	c := newCrowd(b, "", rankcore.TiesShared, *memberCount)
	for _, limit := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.store.Top(b.Context(), rankcore.TopQuery{Board: c.board, Season: "all", Limit: limit}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRows asks for pages of 100 near and far, for the rows around users, and for batches of 200.
func BenchmarkRows(b *testing.B) {
	c := newCrowd(b, "", rankcore.TiesShared, *memberCount)
	anybody := func() rankcore.UserID { return crowdUser(c.rand.IntN(*memberCount)) }
	for _, ask := range []struct {
		name  string
		query func() rankcore.RowsQuery
	}{
		{"first", func() rankcore.RowsQuery { return rankcore.RowsQuery{Limit: 100} }},
		{"deep", func() rankcore.RowsQuery {
			return rankcore.RowsQuery{Limit: 100, After: rankcore.Place{Score: rankcore.Score(c.rand.IntN(1_000_000)), User: anybody()}}
		}},
		{"around-11", func() rankcore.RowsQuery { return rankcore.RowsQuery{Limit: 11, Around: anybody()} }},
	} {
		b.Run(ask.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q := ask.query()
				q.Board, q.Season = c.board, "all"
				if _, err := c.store.Rows(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("batch-200", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			users := make([]rankcore.UserID, rankcore.MaxUsers)
			for i := range users {
				users[i] = anybody()
			}
			if _, err := c.store.Ranks(b.Context(), rankcore.RanksQuery{Board: c.board, Season: "all", Users: users}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMemory tells what a member costs beyond the bytes of its id, when every score has changed once.
func BenchmarkMemory(b *testing.B) {
	bothTies(b, func(b *testing.B, t rankcore.Ties) {
		var before, after runtime.MemStats
		for b.Loop() {
			runtime.GC()
			runtime.ReadMemStats(&before)
			c := newCrowd(b, "", t, *memberCount)
			for i := 0; i < *memberCount; i += 500 {
				c.feed(b, c.sets(500, *memberCount))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc-uint64(c.bytes))/float64(*memberCount), "B/member")
			runtime.KeepAlive(c)
		}
	})
}

// BenchmarkCheckpoint tells what it takes to write all members, freeze their shards, and load them.
func BenchmarkCheckpoint(b *testing.B) {
	c := newCrowd(b, b.TempDir(), rankcore.TiesShared, *memberCount)
	z, err := newCompressor()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			size := int64(0)
			for _, sv := range c.store.savings() {
				n, err := sv.file.write(b.Context(), z, sv.shard.freeze())
				if err != nil {
					b.Fatal(err)
				}
				size += n
			}
			b.ReportMetric(float64(size)/float64(*memberCount), "B/member")
		}
	})
	b.Run("freeze", func(b *testing.B) {
		for b.Loop() {
			c.store.boards["crowd"].shards[0].freeze()
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := New(Config{Dir: c.store.dir, Boards: []*rankcore.Board{c.board}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
