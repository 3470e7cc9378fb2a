package redisstore_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// applying feeds an indexed board with 60 operations every 20 ms until ctx is over, as an applier does: steps for the
// shards that have some, 16 at once.
func (x *indexed) applying(ctx context.Context, w *writer, members int) {
	const every, ops, part = 20 * time.Millisecond, 60, 16
	at := make([]rankcore.Position, w.board.Shards)
	for i := range at {
		at[i] = w.at
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := time.Duration(0); ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		batch := make([]rankcore.Op, ops)
		for i := range batch {
			batch[i] = rankcore.Op{ID: strconv.FormatUint(w.rnd.Uint64(), 36), User: user(w.rnd.IntN(members)), Value: rankcore.Score(1 + w.rnd.IntN(2000))}
		}
		var steps []rankcore.Step
		for _, s := range w.steps(batch...) {
			w.at.Seq, w.at.Time = s.To.Seq, s.To.Time
			if len(s.Ops) > 0 {
				s.From, at[s.Shard] = at[s.Shard], s.To
				steps = append(steps, s)
			}
		}
		for len(steps) > 0 {
			some := steps[:min(part, len(steps))]
			for _, r := range x.Apply(context.WithoutCancel(ctx), w.board, some) {
				if r.State != rankcore.StepApplied {
					w.tb.Errorf("%+v", r)
				}
			}
			steps = steps[len(some):]
		}
		if n%(time.Second/every) == 0 { // the heartbeat that keeps an index current
			x.Positions(context.WithoutCancel(ctx), w.board)
		}
	}
}

// BenchmarkBusyLists asks a board of 256 shards through the count index while 3,000 operations a second are applied. It
// reports how often a shard is asked for rows, for each answer, and what of this process' time an answer takes
// together with what is applied meanwhile.
func BenchmarkBusyLists(b *testing.B) {
	server := servers.Redis(b)
	board := board("busy")
	board.Shards = 256
	const members = 400_000
	w := newWriter(b, open(b, server.URL), board)
	w.fill(members)
	x := openIndexed(b, server.URL, board)
	x.ready(board)
	ctx, stop := context.WithCancel(b.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() { x.applying(ctx, w, members) })
	measure := func(name string, ask func(anybody rankcore.UserID) error) {
		b.Run(name, func(b *testing.B) {
			asked, spent, n := calls(server, "zrange"), processorTime(b), 0
			for b.Loop() {
				n++
				if err := ask(user(n * 7919 % members)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(calls(server, "zrange")-asked)/float64(n), "shards/op")
			b.ReportMetric((processorTime(b)-spent)*1e6/float64(n), "cpu-us/op")
		})
	}
	measure("top-100", func(rankcore.UserID) error {
		_, err := x.Store.Top(b.Context(), rankcore.TopQuery{Board: board, Season: "all", Limit: 100})
		return err
	})
	rows := func(q rankcore.RowsQuery) error {
		q.Board, q.Season = board, "all"
		_, err := x.Store.Rows(b.Context(), q)
		return err
	}
	measure("page-deep", func(anybody rankcore.UserID) error {
		return rows(rankcore.RowsQuery{Limit: 100, After: rankcore.Place{Score: 500_000, User: anybody}})
	})
	measure("around-11", func(anybody rankcore.UserID) error { return rows(rankcore.RowsQuery{Limit: 11, Around: anybody}) })
}
