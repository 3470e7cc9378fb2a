package redisstore

import (
	"context"
	"fmt"

	"rankgate/rankcore"
)

// Positions tells where every shard of b is, in order: StepAt, StepDamaged, or StepFailed with the reason.
// One round trip for each node.
func (s *Store) Positions(ctx context.Context, b *rankcore.Board) []rankcore.StepResult {
	results := s.audit(ctx, b, allShards(b))
	s.metrics.countSteps(results)
	return results
}

// audit asks shards where they are.
func (s *Store) audit(ctx context.Context, b *rankcore.Board, shards []int) []rankcore.StepResult {
	calls, layout := make([]call, len(shards)), layout(b)
	for i, shard := range shards {
		calls[i] = call{shardKeys(b, shard), []any{layout}}
	}
	results := make([]rankcore.StepResult, len(shards))
	for i, reply := range s.step(ctx, auditScript, calls) {
		results[i] = s.result(ctx, b, shards[i], reply)
	}
	return results
}

// Apply takes at most one step for each shard, all at once, and answers each in order. A step happens whole or not
// at all; after StepFailed it may be sent again as it is: if it did happen, the shard answers StepAt its To.
// Outcomes then tells what became of operations with ids.
//
// A step of more than 65535 operations fails; some 500 keep Redis responsive.
//
// In Redis Cluster a node that moves a shard away while it answers may be asked twice, and then a step that
// happened can answer StepAt its To at once.
func (s *Store) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	results := make([]rankcore.StepResult, len(steps))
	var audits, changes []int // indexes of steps
	for i, step := range steps {
		switch {
		case isAudit(step):
			audits = append(audits, i)
		case len(step.Ops) > maxStepOps:
			results[i].Err = fmt.Errorf("a step of %d operations: at most %d are taken", len(step.Ops), maxStepOps)
		default:
			changes = append(changes, i)
		}
	}
	s.change(ctx, b, steps, changes, results)
	shards := make([]int, len(audits))
	for j, i := range audits {
		shards[j] = steps[i].Shard
	}
	for j, r := range s.audit(ctx, b, shards) {
		i := audits[j]
		if r.State == rankcore.StepAt && r.At == steps[i].From {
			r.State = rankcore.StepApplied
		}
		results[i] = r
	}
	s.metrics.countSteps(results)
	return results
}

// change takes the steps at the given indexes and puts their results.
func (s *Store) change(ctx context.Context, b *rankcore.Board, steps []rankcore.Step, indexes []int, results []rankcore.StepResult) {
	calls, layout := make([]call, len(indexes)), layout(b)
	for j, i := range indexes {
		calls[j] = call{shardKeys(b, steps[i].Shard), stepArgs(b, layout, steps[i])}
	}
	for j, reply := range s.step(ctx, applyScript, calls) {
		step := steps[indexes[j]]
		r := s.result(ctx, b, step.Shard, reply)
		if r.State == rankcore.StepApplied {
			r.At = step.To
			if len(r.Outcomes) != len(step.Ops) {
				r = rankcore.StepResult{Err: fmt.Errorf("%d outcomes for %d operations", len(r.Outcomes), len(step.Ops))}
			}
			if r.Moves != nil {
				r.Moves.From = step.From
			}
			s.floors.raise(shardID{b.ID, step.Shard}, step.To)
		}
		if !step.Moves {
			r.Moves = nil
		}
		results[indexes[j]] = r
	}
}

// reply is what a shard answered: a list that begins with a word, or an error.
type reply struct {
	word string
	rest []any
	err  error
}

// step runs a script of the applier's.
func (s *Store) step(ctx context.Context, sc script, calls []call) []reply {
	if len(calls) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	return replies(s.run(ctx, s.steps, sc, calls))
}

// result reads an answer of apply.lua or audit.lua.
func (s *Store) result(ctx context.Context, b *rankcore.Board, shard int, r reply) rankcore.StepResult {
	failed := func(err error) rankcore.StepResult {
		return rankcore.StepResult{Err: fmt.Errorf("shard %d of board %s: %w", shard, b.ID, err)}
	}
	if r.err != nil {
		return failed(r.err)
	}
	switch {
	case r.word == "applied" && len(r.rest) == 3:
		moves, err := readMoves("", text(r.rest[2]))
		if err != nil {
			return failed(err)
		}
		s.sayWhole(b, shard)
		codes := text(r.rest[1])
		outcomes := make([]rankcore.Outcome, len(codes))
		for i := range outcomes {
			outcomes[i] = rankcore.Outcome(codes[i])
		}
		return rankcore.StepResult{State: rankcore.StepApplied, Lost: text(r.rest[0]) == "1", Outcomes: outcomes, Moves: moves}
	case r.word == "at" && (len(r.rest) == 2 || len(r.rest) == 4):
		at, err := rankcore.ParsePosition(text(r.rest[0]))
		if err != nil {
			return failed(err)
		}
		var moves *rankcore.Moves
		if len(r.rest) == 4 {
			if moves, err = readMoves(text(r.rest[2]), text(r.rest[3])); err != nil {
				return failed(err)
			}
		}
		s.sayWhole(b, shard)
		s.floors.raise(shardID{b.ID, shard}, at) // a step whose reply was lost shows only here
		return rankcore.StepResult{State: rankcore.StepAt, At: at, Lost: text(r.rest[1]) == "1", Moves: moves}
	case r.word == "damaged" && len(r.rest) == 1:
		s.sayDamaged(ctx, b, shard, text(r.rest[0]))
		return rankcore.StepResult{State: rankcore.StepDamaged}
	case r.word == "miscounted" && len(r.rest) == 1:
		return failed(s.mend(ctx, b, shard, text(r.rest[0])))
	default:
		return failed(errShape(r.word))
	}
}
