package ingest

import (
	"context"
	"time"

	"rankgate/rankcore"
)

// beat is one eighth of a heartbeat: it moves and audits a part of the shards, opens a lost session again,
// and sends shards that are not where they should be to be caught up.
func (a *Applier) beat(ctx context.Context) error {
	if a.feed == nil {
		if err := a.resume(ctx); err != nil {
			return err
		}
	}
	var part []int
	for s := a.round % beats; s < len(a.main.shards); s += beats {
		part = append(part, s)
	}
	a.beatShards(ctx, part)
	if a.round++; a.round%beats == 0 {
		a.keepAlive(ctx)
		a.report()
	}
	a.catchUp(ctx)
	a.tell()
	return nil
}

// beatShards moves shards that follow to the cursor, with nothing to apply, and asks the others where they
// are. A step that expects a position is the audit: a shard that was set back answers where it is.
func (a *Applier) beatShards(ctx context.Context, numbers []int) {
	var steps []rankcore.Step
	for _, s := range numbers {
		sh := &a.main.shards[s]
		switch sh.state {
		case following:
			steps = append(steps, rankcore.Step{Shard: s, From: sh.pos, To: a.main.cursor, Lost: sh.lost})
		case ahead, rebuild:
			steps = append(steps, rankcore.Step{Shard: s, From: sh.pos, To: sh.pos})
		default: // a catch-up has it, or will
		}
	}
	if len(steps) == 0 {
		return
	}
	now := time.Now()
	for i, res := range a.apply(ctx, steps) {
		a.beaten(&a.main.shards[steps[i].Shard], steps[i], res, now)
	}
}

// beaten takes the answer to a heartbeat in.
func (a *Applier) beaten(sh *shard, step rankcore.Step, res rankcore.StepResult, now time.Time) {
	there := res.State == rankcore.StepApplied || res.State == rankcore.StepAt && res.At == step.To
	switch {
	case res.State == rankcore.StepFailed:
		if sh.state != rebuild {
			sh.failed(now)
		}
	case sh.state == rebuild:
		// Somebody put it right, or set it back further.
		if res.State != rankcore.StepDamaged && (sh.damaged || !there) {
			sh.astray()
		}
	case res.State == rankcore.StepDamaged:
		sh.astray()
	case sh.state == ahead:
		if sh.answered(res); !there || a.ended { // the log has no more and did not show its position
			sh.astray()
		}
	case there:
		sh.answered(res)
		sh.lost, sh.delay = false, 0
	case res.At.Seq > a.main.cursor.Seq: // another applier is faster
		sh.answered(res)
		sh.state, sh.lost = ahead, false
	default:
		sh.answered(res)
		sh.astray()
	}
}

// tickAfter is how old the board's newest message may grow: positions must not fall off the log's front.
func (a *Applier) tickAfter() time.Duration {
	return min(a.owner.cfg.Retention/8, time.Hour)
}

// keepAlive appends a tick when nothing has been written for long.
func (a *Applier) keepAlive(ctx context.Context) {
	if !a.ended || a.main.cursor.IsNone() || time.Since(a.main.cursor.At()) < a.tickAfter() {
		return
	}
	if _, err := a.stream.mark(ctx, a.board, rankcore.Message{Mark: rankcore.MarkTick}); err != nil {
		a.log.Debug("tick not appended", "err", err)
	}
}

// report tells the log's upkeep how far every shard has come, while all of them follow a live session.
func (a *Applier) report() {
	if a.feed == nil {
		return
	}
	low := a.main.cursor
	for s := range a.main.shards {
		sh := &a.main.shards[s]
		if sh.state != following {
			return
		}
		if sh.pos.Seq < low.Seq {
			low = sh.pos
		}
	}
	a.owner.trim.report(a.board.ID, low, true)
}
