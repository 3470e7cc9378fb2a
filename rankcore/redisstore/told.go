package redisstore

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// told is a shard of which the counter has told how many rows to read.
type told struct{ shard, most int }

// toldRows are a shard's rows, and the message that had last changed the season there behind them. Who knows that it was
// the same one before, from the counter or an earlier answer, knows that the rows are of that moment. A shard that was
// emptied or set back shows it by that as well.
type toldRows struct {
	rows
	changed rankcore.Position
}

// readTold reads rows of shards from the gap's key to the last one, and nothing else.
func (s *Store) readTold(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, a *about, asked []told) []answer[toldRows] {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	shards, of := make([]int, len(asked)), make(map[int]*told, len(asked))
	for i := range asked {
		shards[i] = asked[i].shard
		of[shards[i]] = &asked[i]
	}
	return fanOut(ctx, s, s.reads, b, shards, func(ctx context.Context, node redis.UniversalClient, shards []int) ([]answer[toldRows], error) {
		begun := time.Now()
		type sent struct {
			rows    *redis.Cmd
			changed *redis.StringCmd
		}
		first, last, field := number(a.gap.Key), number(a.last), seasonField(season)
		if a.gap == rankcore.StartGap {
			first = "-inf"
		}
		all, pipe := make([]sent, len(shards)), node.Pipeline()
		for i, shard := range shards {
			p := prefix(b, shard)
			all[i].rows = pipe.Do(ctx, "ZRANGE", p+string(season)+":main", first, last, "BYSCORE", "LIMIT", 0, of[shard].most, "WITHSCORES")
			all[i].changed = pipe.HGet(ctx, p+"meta", field)
		}
		commands, _ := pipe.Exec(ctx) // every command carries its own error
		s.metrics.calls.WithLabelValues("told").Observe(time.Since(begun).Seconds())
		answers := make([]answer[toldRows], len(shards))
		for i, shard := range shards {
			answers[i].value, answers[i].err = a.takeTold(of[shard].most, all[i].rows, all[i].changed)
		}
		return answers, sickness(commands)
	})
}

// takeTold reads a shard's answer.
func (a *about) takeTold(most int, found *redis.Cmd, changed *redis.StringCmd) (t toldRows, err error) {
	list, err := found.Result()
	meta, err2 := changed.Result()
	if err2 == redis.Nil { //nolint:errorlint // the season is not there, and a command's own error is not wrapped
		meta, err2 = "", nil
	}
	if err = worst(err, err2); err != nil {
		return t, err
	}
	if meta != "" {
		if t.changed, err = rankcore.ParsePosition(meta[strings.LastIndexByte(meta, ' ')+1:]); err != nil {
			return t, err
		}
	}
	t.rows, err = a.entries(list, most)
	return t, err
}
