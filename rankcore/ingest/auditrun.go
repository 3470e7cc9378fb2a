package ingest

import (
	"context"
	"math/rand/v2"
	"time"

	"rankgate/rankcore"
)

// Bounds of the pause between two shards.
const (
	// auditShare bounds what Run costs: it pauses so many times as long as an audit took, 0.5 % of the store's time.
	auditShare = 200
	// longestPause is for boards of few shards.
	longestPause = 30 * time.Second
)

// Run audits one shard after the other until ctx ends, in an order of its own, and repairs what it can. A pass over
// all shards takes AuditorConfig.Pass, or longer where more than 0.5 % of the store's time would go into it. Behind
// each it compares the boards' count indexes with them.
func (a *Auditor) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.owner.Ready():
	}
	var all []patrolled
	for _, b := range a.boards {
		due := new(rankcore.Position)
		for s := range b.Shards {
			all = append(all, patrolled{b, s, due})
		}
	}
	if len(all) == 0 {
		<-ctx.Done()
		return nil
	}
	least := min(a.pass/time.Duration(len(all)), longestPause)
	for pause := least; ; {
		drifting, audited := 0, 0
		for _, i := range rand.Perm(len(all)) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			if !a.leases.Holds(all[i].board.ID) {
				continue
			}
			audited++
			spent, drifts := a.patrol(ctx, all[i])
			pause = max(least, a.share*spent)
			if drifts {
				drifting++
			}
		}
		for _, b := range a.boards {
			if a.index != nil && a.leases.Holds(b.ID) {
				a.patrolIndex(ctx, b)
			}
		}
		if audited > 0 {
			a.metrics.passed.SetToCurrentTime()
		}
		if drifting > 0 {
			a.log.Warn("an audit of all shards found some that drift", "shards", drifting, "of", len(all))
		}
	}
}

// patrolled is a shard that Run audits.
type patrolled struct {
	board *rankcore.Board
	shard int
	due   *rankcore.Position // the board's newest message when one of its shards was last audited
}

// patrol verifies one shard. It reports what that cost the store, nothing when it did not answer, and whether the
// shard drifts.
func (a *Auditor) patrol(ctx context.Context, p patrolled) (spent time.Duration, drifts bool) {
	newest, err := a.stream.newest(ctx, p.board.ID)
	if err != nil {
		if ctx.Err() == nil {
			a.note(p.board, &rankcore.Audit{Shard: p.shard}, err)
		}
		return 0, false
	}
	failed := false
	v := verification{a: a, board: p.board, repair: true, due: *p.due, each: func(found rankcore.Audit, err error) {
		drifts, failed = len(found.Drift) > 0, err != nil
	}}
	*p.due = newest.Position
	began := time.Now()
	err = v.look(ctx, p.shard)
	if spent = time.Since(began); err == nil {
		err = v.settle(ctx)
	}
	if err != nil || failed { // err: ctx has ended
		return 0, false
	}
	return spent, drifts
}

// patrolIndex compares a board's count index with its shards. Where they differ all shards are audited first, as what
// a shard counts may be what is wrong, and then an index that still differs is told and counted anew.
func (a *Auditor) patrolIndex(ctx context.Context, b *rankcore.Board) {
	drift, err := a.index.Audit(ctx, b, false)
	if err == nil && len(drift) == 0 {
		return
	}
	v := verification{a: a, board: b, repair: true, each: func(rankcore.Audit, error) {}}
	for shard := 0; shard < b.Shards && err == nil; shard++ {
		err = v.look(ctx, shard)
	}
	if err == nil {
		err = v.settle(ctx)
	}
	if err == nil {
		err = v.lookAtIndex(ctx)
	}
	if err != nil && ctx.Err() == nil {
		a.note(b, &rankcore.Audit{Shard: rankcore.AllShards}, err)
	}
}
