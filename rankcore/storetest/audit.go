package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// AuditedStore is a Store whose shards can be audited.
type AuditedStore interface {
	Store
	// Audit compares what a shard counts with what it holds, and with repair puts right what it can.
	Audit(ctx context.Context, b *rankcore.Board, shard int, repair bool) (rankcore.Audit, error)
}

// RunAudit holds that no operations whatever, in whatever order, make a shard drift, that an audit counts the
// members there are, and that it changes nothing.
func RunAudit(t *testing.T, open func(t *testing.T, boards ...*rankcore.Board) AuditedStore) {
	kinds := [][]func(*rankcore.Board){{}, {asc}, {set, daily}, {asc, best}, {first}, {first, set, daily}}
	boards := make([]*rankcore.Board, propertyBoards)
	for i := range boards {
		boards[i] = newBoard(fmt.Sprintf("audit-%d", i), kinds[i%len(kinds)]...)
	}
	s := open(t, boards...)
	used := 0
	rapid.Check(t, func(rt *rapid.T) {
		b := boards[used%len(boards)]
		used++
		f := feed(t, s, b)
		at, op := start, anyOp(b)
		for range rapid.IntRange(1, 4).Draw(rt, "messages") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, b.Dedupe, 13 * time.Minute, 26 * time.Hour}).Draw(rt, "pause"))
			f.message(at, rapid.SliceOfN(op, 0, 40).Draw(rt, "operations")...)
			f.checkAudit(s, rapid.Bool().Draw(rt, "repair"))
		}
		f.check("a", "b")
	})
}

func (f *feeder) checkAudit(s AuditedStore, repair bool) {
	f.t.Helper()
	members := int64(0)
	for shard := range f.board.Shards {
		a, err := s.Audit(f.t.Context(), f.board, shard, repair)
		if err != nil || len(a.Drift) > 0 || a.At != f.at || a.Shard != shard {
			f.t.Fatalf("audit of shard %d at %v: %+v, %v", shard, f.at, a, err)
		}
		members += a.Members
	}
	if len(f.board.Seasons) > 1 { // how many past ones a store still has is its own affair
		return
	}
	if want := len(f.model.ranking(f.board.SeasonAt(f.board.Seasons[0], f.at.At()).ID)); members != int64(want) {
		f.t.Fatalf("audits counted %d members, want %d", members, want)
	}
}
