package ingest

import (
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

// A shard that is behind or not whole is looked at again for a while: the applier moves idle shards once a second,
// and what it mends by itself is no drift, or is repaired.
const (
	settleWithin = 5 * time.Second
	settleEvery  = 250 * time.Millisecond
)

// Verify audits every shard of a board and hands each finding on as it is known, in no order. An error with a finding
// says that this shard could not be audited. With repair, segment counts are put right, and a shard that is not
// whole is waited for until the applier has fed it, for 5 s.
//
// What the log had when Verify began must be taken in within that time. Verify fails when ctx ends or when the log
// does not answer; what it handed on until then stands.
func (a *Auditor) Verify(ctx context.Context, b *rankcore.Board, repair bool, each func(rankcore.Audit, error)) error {
	newest, err := a.stream.newest(ctx, b.ID)
	if err != nil {
		return err
	}
	v := verification{a: a, board: b, repair: repair, due: newest.Position, each: each}
	for shard := range b.Shards {
		found, err := a.audit(ctx, b, shard, repair, v.due)
		found.Shard = shard
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && v.mayMend(&found):
			v.open = append(v.open, found)
		default:
			v.tell(&found, err)
		}
	}
	return v.settle(ctx)
}

// verification is one call of Verify.
type verification struct {
	a      *Auditor
	board  *rankcore.Board
	repair bool
	due    rankcore.Position
	each   func(rankcore.Audit, error)
	open   []rankcore.Audit // findings that may mend
}

func (v *verification) tell(found *rankcore.Audit, err error) {
	v.a.note(v.board, found, err)
	v.each(*found, err)
}

// mayMend reports whether the applier may put right what was found.
func (v *verification) mayMend(found *rankcore.Audit) bool {
	return v.repair && found.Damaged() || slices.ContainsFunc(found.Drift, ofPosition)
}

func ofPosition(d rankcore.Drift) bool {
	return d.Kind == rankcore.DriftPosition || d.Kind == rankcore.DriftBehind
}

// settle looks at the open findings until none is left or their time is over.
func (v *verification) settle(ctx context.Context) error {
	for end := time.Now().Add(v.a.settle); len(v.open) > 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleEvery):
		}
		last := time.Now().After(end)
		where := v.a.shards.Positions(ctx, v.board)
		rest := v.open[:0]
		for _, found := range v.open {
			mended, err := v.again(ctx, &found, where[found.Shard])
			if err == nil && !mended && !last {
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
func (v *verification) again(ctx context.Context, found *rankcore.Audit, where rankcore.StepResult) (mended bool, err error) {
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
	case where.At == found.At && where.At.Seq < v.due.Seq: // nothing has moved
		return false, nil
	}
	drift, err := v.a.place(ctx, v.board, where.At, v.due)
	if err != nil {
		return false, err
	}
	found.At = where.At
	found.Drift = append(slices.DeleteFunc(found.Drift, ofPosition), drift...)
	return len(drift) == 0, nil
}
