package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// segmentTries bounds how often shards are read again that changed while they were read.
const segmentTries = 5

// loadSegments sums up the segment counts of all shards. It ends within the store's step timeout.
func (s *Store) loadSegments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, asOf time.Time) (*aggregate, error) {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	list := make([]reading, b.Shards)
	ask := allShards(b)
	for range segmentTries {
		var err error
		if ask, err = s.readSegments(ctx, b, season, ask, list); err != nil {
			return nil, unavailable(ctx, err)
		}
		if len(ask) == 0 {
			segments, err := newAggregate(b.Order, season, asOf, list)
			if err != nil {
				return nil, unavailable(ctx, err)
			}
			return segments, nil
		}
	}
	return nil, &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: fmt.Errorf("%d shards of board %s changed while they were read, %d times", len(ask), b.ID, segmentTries)}
}

// readSegments reads the given shards into list and returns those that are to be read again.
//
// It uses plain commands, since a script would make a Lua value of each of a thousand fields and turn it back, at
// several times the cost. Meta is read before and after: when it says the same, no step came between, and
// the counts are of that moment.
func (s *Store) readSegments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, shards []int, list []reading) (again []int, err error) {
	type commands struct {
		before, after *redis.SliceCmd
		counts        *redis.Cmd
	}
	sent, pipe := make([]commands, len(shards)), s.steps.Pipeline()
	for i, shard := range shards {
		p := prefix(b, shard)
		sent[i].before = pipe.HMGet(ctx, p+"meta", "layout", seasonField(season))
		sent[i].counts = pipe.Do(ctx, "HGETALL", p+string(season)+":segment")
		sent[i].after = pipe.HMGet(ctx, p+"meta", "layout", seasonField(season))
	}
	_, _ = pipe.Exec(ctx) // every reply carries its own error
	layout := layout(b)
	for i, c := range sent {
		before, err1 := c.before.Result()
		counts, err2 := c.counts.Slice()
		after, err3 := c.after.Result()
		err := errors.Join(err1, err2, err3)
		if err == nil && !slices.Equal(before, after) {
			again = append(again, shards[i])
			continue
		}
		if err == nil {
			list[shards[i]], err = readingOf(layout, before, sumCounts(counts), counts)
		}
		if err != nil {
			return nil, fmt.Errorf("shard %d of board %s: %w", shards[i], b.ID, err)
		}
	}
	return again, nil
}

// sumCounts is how many members a hash of segments counts; what is no number does not count, and shows.
func sumCounts(flat []any) (sum int64) {
	for i := 1; i < len(flat); i += 2 {
		if n, err := keyOf(flat[i]); err == nil {
			sum += n
		}
	}
	return sum
}
