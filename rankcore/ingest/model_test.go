package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"rankgate/rankcore"
)

// model is a store that does PROTOCOL.md's step and nothing else, with the faults a real one has.
type model struct {
	board *rankcore.Board

	mu     sync.Mutex
	shards []modelShard
	down   map[int]bool        // shards that do not answer
	before func(rankcore.Step) // seen before a step is taken; called without mu
	mute   int                 // replies to steps with operations that will be lost, after the step was taken
}

type modelShard struct {
	pos     rankcore.Position
	lost    bool
	damaged bool
	scores  map[rankcore.UserID]int64
	memory  map[rankcore.OpKey]remembered
	steps   int // that carried operations
}

type remembered struct {
	stored int64
	digest uint32
}

func newModel(b *rankcore.Board) *model {
	return &model{board: b, shards: make([]modelShard, b.Shards), down: map[int]bool{}}
}

func (m *model) Positions(_ context.Context, b *rankcore.Board) []rankcore.StepResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]rankcore.StepResult, b.Shards)
	for i := range results {
		sh := &m.shards[i]
		switch {
		case m.down[i]:
			results[i].Err = errors.New("down")
		case sh.damaged:
			results[i].State = rankcore.StepDamaged
		default:
			results[i] = rankcore.StepResult{State: rankcore.StepAt, At: sh.pos, Lost: sh.lost}
		}
	}
	return results
}

func (m *model) Apply(_ context.Context, _ *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	results := make([]rankcore.StepResult, len(steps))
	for i, step := range steps {
		if m.before != nil {
			m.before(step)
		}
		results[i] = m.script(step)
	}
	return results
}

func (m *model) script(step rankcore.Step) rankcore.StepResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	sh := &m.shards[step.Shard]
	switch {
	case m.down[step.Shard]:
		return rankcore.StepResult{Err: errors.New("down")}
	case sh.damaged:
		return rankcore.StepResult{State: rankcore.StepDamaged}
	case sh.pos != step.From:
		return rankcore.StepResult{State: rankcore.StepAt, At: sh.pos, Lost: sh.lost}
	}
	outcomes := sh.take(step, m.board)
	if len(step.Ops) > 0 {
		sh.steps++
		if m.mute > 0 {
			m.mute--
			return rankcore.StepResult{Err: errors.New("the reply was lost")}
		}
	}
	return rankcore.StepResult{State: rankcore.StepApplied, At: sh.pos, Lost: sh.lost, Outcomes: outcomes}
}

func (sh *modelShard) take(step rankcore.Step, b *rankcore.Board) []rankcore.Outcome {
	if sh.scores == nil {
		sh.scores, sh.memory = map[rankcore.UserID]int64{}, map[rankcore.OpKey]remembered{}
	}
	outcomes := make([]rankcore.Outcome, len(step.Ops))
	for i := range step.Ops {
		op := &step.Ops[i]
		if op.ID != "" {
			if old, ok := sh.memory[op.Key()]; ok && abs(op.Stored-old.stored) <= b.Dedupe.Milliseconds() {
				outcomes[i] = rankcore.Duplicate
				continue
			}
			sh.memory[op.Key()] = remembered{op.Stored, op.Digest()}
		}
		outcomes[i] = rankcore.Applied
		sh.scores[op.User] += int64(op.Value)
	}
	maps.DeleteFunc(sh.memory, func(_ rankcore.OpKey, e remembered) bool { return e.stored < b.ForgetBefore(step.To) })
	sh.pos, sh.lost = step.To, sh.lost || step.Lost
	return outcomes
}

func abs(n int64) int64 { return max(n, -n) }

func (m *model) Reset(_ context.Context, _ *rankcore.Board, shard int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shards[shard].damaged {
		m.shards[shard] = modelShard{}
	}
	return nil
}

// with changes a shard behind the applier's back.
func (m *model) with(shard int, change func(*modelShard)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.shards[shard])
}

// copyOf is a shard as it is now, to be put back later.
func (m *model) copyOf(shard int) modelShard {
	m.mu.Lock()
	defer m.mu.Unlock()
	sh := m.shards[shard]
	sh.scores, sh.memory = maps.Clone(sh.scores), maps.Clone(sh.memory)
	return sh
}

func (m *model) score(user string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shards[m.board.Shard(rankcore.UserID(user))].scores[rankcore.UserID(user)]
}

// scored waits until the users have these scores.
func (m *model) scored(t *testing.T, want map[string]int64) {
	t.Helper()
	eventually(t, func() string {
		for user, n := range want {
			if got := m.score(user); got != n {
				return fmt.Sprintf("%s has %d, want %d", user, got, n)
			}
		}
		return ""
	})
}
