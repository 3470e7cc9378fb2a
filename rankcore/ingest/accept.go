package ingest

import (
	"context"
	"errors"
	"fmt"

	"rankgate/rankcore"
)

// errTrimming is a front that moves while somebody stands at it.
var errTrimming = errors.New("the log dropped its first message meanwhile; try again")

// AcceptLoss lets the shards that the log no longer reaches back to go on with what it still has, and returns how
// many. Only an operator may decide that: what stood between such a shard and the log's front is gone for good. A shard
// that is not whole is emptied first, since nothing can tell what of it is right; another keeps what it has.
// Each is flagged as lost; the others lack nothing.
//
// The applier feeds them from there, as any shard that is behind. Shards that need none of this are left alone, so that
// it may be called again after an error.
func (a *Auditor) AcceptLoss(ctx context.Context, b *rankcore.Board) (accepted int, err error) {
	for shard, where := range a.shards.Positions(ctx, b) {
		switch where.State {
		case rankcore.StepFailed:
			return accepted, where.Err
		case rankcore.StepDamaged, rankcore.StepAt, rankcore.StepApplied:
		}
		needed, err := a.unreachable(ctx, b, where)
		if err == nil && needed {
			err = a.skip(ctx, b, shard, where)
			accepted++
		}
		if err != nil {
			return accepted, fmt.Errorf("shard %d of board %s: %w", shard, b.ID, err)
		}
	}
	return accepted, nil
}

// unreachable reports whether the log does not reach back to what a shard needs. A shard that is not whole needs all.
func (a *Auditor) unreachable(ctx context.Context, b *rankcore.Board, where rankcore.StepResult) (bool, error) {
	ss, what, err := a.stream.prove(ctx, b, where.At) // of a damaged shard that is none
	ss.close()
	return what == trimmed, err
}

// skip moves a shard to the first message that the log has, over what it no longer has.
func (a *Auditor) skip(ctx context.Context, b *rankcore.Board, shard int, where rankcore.StepResult) error {
	if where.State == rankcore.StepDamaged {
		if err := a.shards.Reset(ctx, b, shard); err != nil {
			return err
		}
	}
	if _, err := a.stream.mark(ctx, b, rankcore.Message{Mark: rankcore.MarkTick}); err != nil { // so that there is a message
		return err
	}
	front, err := a.front(ctx, b)
	if err != nil {
		return err
	}
	ops, _ := front.of(shard, -1)
	step := rankcore.Step{Shard: shard, From: where.At, To: front.to, Ops: ops, Lost: true}
	switch res := a.shards.Apply(ctx, b, []rankcore.Step{step})[0]; {
	case res.State == rankcore.StepFailed:
		return res.Err
	case res.State == rankcore.StepApplied || res.State == rankcore.StepAt && res.At == front.to:
		a.log.Error("a shard goes on without what the log no longer has, as an operator decided",
			"board", b.ID, "shard", shard, "from", where.At.String(), "to", front.to.String())
		return nil
	default:
		return errors.New("it changed meanwhile; look again")
	}
}

// front is the first message that the log has of the board, understood. There is one: a tick was just appended.
func (a *Auditor) front(ctx context.Context, b *rankcore.Board) (*run, error) {
	ss, err := a.stream.open(ctx, b.ID, from{})
	if err != nil {
		return nil, err
	}
	defer ss.close()
	e, err := ss.one(ctx)
	if err != nil {
		return nil, err
	}
	v, err := a.stream.look(ctx)
	switch {
	case err != nil:
		return nil, err
	case e == nil || v.first > e.Seq: // R9: what was read is only proven to be the first by what is there afterwards
		return nil, errTrimming
	}
	r := newReader(b, v.created).understand(rankcore.Position{}, []entry{*e})
	return r, a.stream.bury(ctx, b.ID, r.dead)
}
