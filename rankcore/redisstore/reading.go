package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rankgate/rankcore"
)

// reading is what one shard answered about one season, all of one moment.
type reading struct {
	members int64
	changed rankcore.Position // the message that last changed the season's scores there
	rest    []any             // what the script adds
}

// read runs a read script on shards of a board at once and waits for all: a shard that is missing would
// silently improve everybody's rank, so one that is not ready or does not answer fails the question.
// Readings stand in the order of shards. extra are the script's own arguments for each.
func (s *Store) read(ctx context.Context, sc script, b *rankcore.Board, season rankcore.SeasonID, shards []int, extra func(i int) string) ([]reading, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	return s.readings(ctx, replies(run(ctx, s.reads, sc, readCalls(b, season, shards, extra))), b, shards)
}

func readCalls(b *rankcore.Board, season rankcore.SeasonID, shards []int, extra func(i int) string) []call {
	calls, layout := make([]call, len(shards)), layout(b)
	for i, shard := range shards {
		args := []any{layout, string(season)}
		if extra != nil {
			args = append(args, extra(i))
		}
		calls[i] = call{readKeys(b, shard, season), args}
	}
	return calls
}

func (s *Store) readings(ctx context.Context, answers []reply, b *rankcore.Board, shards []int) ([]reading, error) {
	list := make([]reading, len(answers))
	for i, r := range answers {
		where := func(err error) error { return fmt.Errorf("shard %d of board %s: %w", shards[i], b.ID, err) }
		if r.err != nil {
			return nil, unavailable(ctx, where(r.err))
		}
		if r.word == "not ready" && len(r.rest) == 1 {
			return nil, &rankcore.Unavailable{Reason: rankcore.ShardRebuilding, Cause: where(errors.New(text(r.rest[0])))}
		}
		if r.word != "ok" || len(r.rest) < 3 {
			return nil, unavailable(ctx, where(errShape(r.word)))
		}
		changed, err := rankcore.ParsePosition(text(r.rest[0]))
		if err != nil {
			return nil, unavailable(ctx, where(err))
		}
		members, err := keyOf(r.rest[1])
		if err != nil {
			return nil, unavailable(ctx, where(err))
		}
		list[i] = reading{members: members, changed: changed, rest: r.rest[2:]}
	}
	return list, nil
}

func allShards(b *rankcore.Board) []int {
	shards := make([]int, b.Shards)
	for i := range shards {
		shards[i] = i
	}
	return shards
}

// meta sums up readings of all shards, begun at asOf.
func meta(season rankcore.SeasonID, asOf time.Time, list []reading) rankcore.Meta {
	m := rankcore.Meta{Season: season, Status: rankcore.Fresh, AsOf: asOf}
	for _, r := range list {
		m.Total += r.members
		m.Version = newer(m.Version, r.changed)
	}
	return m
}

// newer is the message stored later. Time decides, since a log that lost its tail gives its sequences again.
func newer(a, b rankcore.Position) rankcore.Position {
	if a.Time > b.Time || a.Time == b.Time && a.Seq > b.Seq {
		return a
	}
	return b
}
