package redisstore

import (
	"context"
	"fmt"

	"rankgate/rankcore"
)

// Outcomes tells from the id memory what became of operations, in order: what it was when the operation took effect,
// Conflict when another operation wears its id, or OutcomeUnknown when it is not remembered or has no id.
// It fails when a shard concerned is not whole or does not answer.
func (s *Store) Outcomes(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error) {
	outcomes := make([]rankcore.Outcome, len(ops))
	asked := map[int][]int{} // by shard: indexes of ops, at most MaxOps a call
	var calls []call
	var indexes [][]int
	flush := func(shard int) {
		args := make([]any, len(asked[shard]))
		for j, i := range asked[shard] {
			args[j] = appendIDKey(nil, &ops[i])
		}
		calls = append(calls, call{shardKeys(b, shard), args})
		indexes = append(indexes, asked[shard])
		delete(asked, shard)
	}
	for i := range ops {
		if ops[i].ID == "" {
			continue
		}
		shard := b.Shard(ops[i].User)
		if asked[shard] = append(asked[shard], i); len(asked[shard]) == rankcore.MaxOps {
			flush(shard)
		}
	}
	for shard := range asked {
		flush(shard)
	}
	for c, r := range s.step(ctx, outcomesScript, calls) {
		switch {
		case r.err != nil:
			return nil, unavailable(ctx, r.err)
		case r.word == "damaged":
			return nil, &rankcore.Unavailable{Reason: rankcore.ShardRebuilding, Cause: fmt.Errorf("a shard of board %s: %s", b.ID, text(r.rest[0]))}
		case r.word != "ok" || len(r.rest) != len(indexes[c]):
			return nil, unavailable(ctx, errShape(r.word))
		}
		for j, i := range indexes[c] {
			outcomes[i] = remembered(&ops[i], text(r.rest[j]))
		}
	}
	return outcomes, nil
}
