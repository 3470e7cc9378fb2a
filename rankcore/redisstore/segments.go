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
	list, err := s.readSegments(ctx, b, season)
	if err != nil {
		return nil, err
	}
	segments, err := newAggregate(b.Order, season, asOf, list)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return segments, nil
}

// Segments are the members of a season by segment as each shard counts them, in order, each of one moment of its own.
// It ends within the step timeout.
func (s *Store) Segments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID) ([]rankcore.ShardSegments, error) {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	list, err := s.readSegments(ctx, b, season)
	if err != nil {
		return nil, err
	}
	shards := make([]rankcore.ShardSegments, len(list))
	for i, r := range list {
		shards[i].Changed = r.changed
		if shards[i].Segments, err = segmentsOfReading(b.Order, r); err != nil {
			return nil, unavailable(ctx, err)
		}
	}
	return shards, nil
}

// readSegments reads the hash of segments of every shard.
func (s *Store) readSegments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID) ([]reading, error) {
	return s.readAll(ctx, s.steps, question{name: "segments", board: b, season: season, members: sumCounts, ask: func(_ int, keys string) [][]any {
		return [][]any{{"HGETALL", keys + ":segment"}}
	}}, allShards(b))
}

// segmentsOfReading are what a hash of segments counts.
func segmentsOfReading(o rankcore.Order, r reading) ([]rankcore.SegmentCount, error) {
	flat, _ := r.answers[0].([]any)
	counts := make([]rankcore.SegmentCount, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		g, err := keyOf(flat[i])
		if err != nil {
			return nil, err
		}
		n, err := keyOf(flat[i+1])
		if err != nil {
			return nil, err
		}
		counts = append(counts, rankcore.SegmentCount{Segment: rankcore.Segment(segmentKey(o, rankcore.Segment(g))), Members: n})
	}
	return counts, nil
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
