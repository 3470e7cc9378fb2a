package ingest

import (
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

// A shard that is behind or not whole is looked at again for a while: the applier moves every shard at least once a
// second, and what it mends by itself is no drift, or is repaired.
const (
	settleWithin = 5 * time.Second
	settleEvery  = 250 * time.Millisecond
)

// Verify audits every shard of a board and hands each finding on as it is known, in no order, and then, for AllShards,
// what the count index differs in from them, if it does. An error with a finding says that this shard could not be
// audited; the index is not compared then, nor where what shards count is wrong. With repair, segment counts are put right, and a shard that is not
// whole is waited for until the applier has fed it, for 5 s.
//
// A shard that lacks what the log had when Verify began is behind only if it does not move for that time: in a burst
// all of them lag. Verify fails when ctx ends or when the log does not answer; what it handed on until then stands.
func (a *Auditor) Verify(ctx context.Context, b *rankcore.Board, repair bool, each func(rankcore.Audit, error)) error {
	newest, err := a.stream.newest(ctx, b.ID)
	if err != nil {
		return err
	}
	v := verification{a: a, board: b, repair: repair, due: newest.Position, each: each}
	for shard := range b.Shards {
		if err := v.look(ctx, shard); err != nil {
			return err
		}
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	return v.lookAtIndex(ctx)
}

// verification audits shards of a board, first each by itself, then those together that may mend.
type verification struct {
	a      *Auditor
	board  *rankcore.Board
	repair bool
	due    rankcore.Position
	each   func(rankcore.Audit, error)
	open   []rankcore.Audit // findings that may mend
	wrong  bool             // some shard does not count what it holds, or cannot be asked
}

func (v *verification) tell(found *rankcore.Audit, err error) {
	v.a.note(v.board, found, err)
	v.wrong = v.wrong || err != nil || slices.ContainsFunc(found.Drift, miscounted)
	v.each(*found, err)
}

func miscounted(d rankcore.Drift) bool {
	return !d.Repaired && (d.Kind == rankcore.DriftSegments || d.Kind == rankcore.DriftDamage)
}

// look audits one shard, and tells of it or keeps it open. It fails when ctx has ended.
func (v *verification) look(ctx context.Context, shard int) error {
	found, err := v.a.audit(ctx, v.board, shard, v.repair, v.due)
	found.Shard = shard
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && (v.repair && found.Damaged() || slices.ContainsFunc(found.Drift, ofPosition)):
		v.open = append(v.open, found)
	default:
		v.tell(&found, err)
	}
	return nil
}

func ofPosition(d rankcore.Drift) bool {
	return d.Kind == rankcore.DriftPosition || d.Kind == rankcore.DriftBehind
}

// lookAtIndex compares the count index with the shards, and tells only of what differs. It fails when ctx has ended.
func (v *verification) lookAtIndex(ctx context.Context) error {
	if v.a.index == nil || v.wrong {
		return nil
	}
	drift, err := v.a.index.Audit(ctx, v.board, v.repair)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(drift) > 0 || err != nil {
		v.tell(&rankcore.Audit{Shard: rankcore.AllShards, Drift: drift}, err)
	}
	return nil
}

// settle looks at the open findings until none is left or their time is over.
func (v *verification) settle(ctx context.Context) error {
	for end := time.Now().Add(v.a.settle); len(v.open) > 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(v.a.every):
		}
		last := time.Now().After(end)
		where := v.a.shards.Positions(ctx, v.board)
		rest := v.open[:0]
		for _, found := range v.open {
			over, err := v.again(ctx, &found, where[found.Shard])
			if err == nil && !over && !last {
				rest = append(rest, found)
			} else {
				v.tell(&found, err)
			}
		}
		v.open = rest
	}
	return nil
}

// again looks at an open finding once more and reports whether nothing of it is left to wait for.
func (v *verification) again(ctx context.Context, found *rankcore.Audit, where rankcore.StepResult) (over bool, err error) {
	behind := slices.ContainsFunc(found.Drift, func(d rankcore.Drift) bool { return d.Kind == rankcore.DriftBehind })
	switch {
	case where.State == rankcore.StepFailed:
		return false, where.Err
	case where.State == rankcore.StepDamaged:
		return false, nil
	case found.Damaged():
		now, err := v.a.shards.Audit(ctx, v.board, found.Shard, v.repair)
		if err != nil || now.Damaged() {
			return false, err
		}
		for i := range found.Drift {
			found.Drift[i].Repaired = true
		}
		found.Members, found.Segments = now.Members, now.Segments
		found.Drift = append(found.Drift, now.Drift...)
	case behind && where.At == found.At:
		return false, nil
	case behind: // it moves
		found.At, found.Drift = where.At, slices.DeleteFunc(found.Drift, ofPosition)
		return true, nil
	}
	drift, err := v.a.place(ctx, where.At, v.due)
	if err != nil {
		return false, err
	}
	found.At = where.At
	found.Drift = append(slices.DeleteFunc(found.Drift, ofPosition), drift...)
	return len(drift) == 0, nil
}
