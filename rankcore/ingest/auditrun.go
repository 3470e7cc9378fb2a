package ingest

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Bounds of the pause between two shards.
const (
	// auditShare bounds what Run costs: it pauses so many times as long as an audit took, 0.5 % of the store's time.
	auditShare = 200
	// longestPause is for boards of few shards.
	longestPause = 30 * time.Second
	// lateAfter is how long a message may be in the log before a shard without it is called behind: a burst may take
	// a while, and the lag is told by other metrics.
	lateAfter = time.Minute
)

// Run audits one shard after the other until ctx ends, in an order of its own, and repairs what it can. A pass over
// all shards takes AuditorConfig.Pass, or longer where more than 0.5 % of the store's time would go into it.
func (a *Auditor) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.owner.Ready():
	}
	var all []patrolled
	for _, b := range a.boards {
		late := &lateness{}
		for s := range b.Shards {
			all = append(all, patrolled{b, s, late})
		}
	}
	if len(all) == 0 {
		<-ctx.Done()
		return nil
	}
	least := min(a.pass/time.Duration(len(all)), longestPause)
	for pause := least; ; {
		drifting := 0
		for _, i := range rand.Perm(len(all)) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			began := time.Now()
			found, err := a.patrol(ctx, all[i])
			if ctx.Err() != nil {
				return nil
			}
			a.note(all[i].board, &found, err)
			if len(found.Drift) > 0 {
				drifting++
			}
			if pause = least; err == nil { // one that does not answer costs nothing
				pause = max(least, auditShare*time.Since(began))
			}
		}
		a.metrics.passed.SetToCurrentTime()
		if drifting > 0 {
			a.log.Warn("an audit of all shards found some that drift", "shards", drifting, "of", len(all))
		}
	}
}

// patrolled is a shard that Run audits.
type patrolled struct {
	board *rankcore.Board
	shard int
	late  *lateness // of the board
}

// patrol audits one shard. A position that differs from the log is looked at twice: the shard may have moved on, and
// the log dropped where it had been, in between.
func (a *Auditor) patrol(ctx context.Context, p patrolled) (rankcore.Audit, error) {
	due, err := p.late.due(ctx, a.stream, p.board.ID)
	if err != nil {
		return rankcore.Audit{Shard: p.shard}, err
	}
	found, err := a.audit(ctx, p.board, p.shard, true, due)
	if err != nil || !slices.ContainsFunc(found.Drift, ofPosition) {
		return found, err
	}
	where := a.shards.Positions(ctx, p.board)[p.shard]
	if where.State != rankcore.StepAt {
		return found, where.Err
	}
	drift, err := a.place(ctx, p.board, where.At, due)
	found.At = where.At
	found.Drift = append(slices.DeleteFunc(found.Drift, ofPosition), drift...)
	return found, err
}

// lateness knows a message of a board that every shard should long have taken in, without a clock of the log's.
// Run's alone.
type lateness struct {
	past, newest rankcore.Position
	seen         time.Time // when newest was read
}

// due is the board's newest message as it was at least lateAfter ago; none at first.
func (l *lateness) due(ctx context.Context, s stream, id rankcore.BoardID) (rankcore.Position, error) {
	if time.Since(l.seen) < lateAfter {
		return l.past, nil
	}
	newest, err := s.newest(ctx, id)
	if err != nil {
		return rankcore.Position{}, err
	}
	l.past, l.newest, l.seen = l.newest, newest.Position, time.Now()
	return l.past, nil
}
