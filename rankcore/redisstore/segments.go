package redisstore

import (
	"context"
	"time"

	"rankgate/rankcore"
)

// loadSegments has the segment counts of all shards from the counter, or sums them up. It ends within the store's step timeout.
func (s *Store) loadSegments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, asOf time.Time) (*aggregate, error) {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	if segments, ok := s.countedSegments(ctx, b, season, asOf); ok {
		return segments, nil
	}
	list, err := s.readAll(ctx, s.steps, question{name: "segments", board: b, season: season, members: sumCounts, ask: func(_ int, keys string) [][]any {
		return [][]any{{"HGETALL", keys + ":segment"}}
	}}, allShards(b))
	if err != nil {
		return nil, err
	}
	segments, err := newAggregate(b.Order, season, asOf, list)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return segments, nil
}

// sumCounts is how many members a hash of segments counts; what is no number does not count, and shows.
func sumCounts(answers []any) (sum int64) {
	flat, _ := answers[0].([]any)
	for i := 1; i < len(flat); i += 2 {
		if n, err := keyOf(flat[i]); err == nil {
			sum += n
		}
	}
	return sum
}
