package redisstore

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// told is a shard of which the counter has told something.
type told struct {
	shard   int
	most    int               // rows to read
	changed rankcore.Position // the message that had last changed the season there when the counter was asked
}

// readTold reads rows of shards from the gap's key to the last one. A shard of which the counter has told is asked for
// nothing but rows, and which message last changed the season: when it is the one that the counter knew of before, the rows
// are as they were then, and else the answer is errChanged. A shard that was emptied or set back shows it by that as well.
func (s *Store) readTold(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, a *about, asked []told) []answer[rows] {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	shards, of := make([]int, len(asked)), make(map[int]*told, len(asked))
	for i := range asked {
		shards[i] = asked[i].shard
		of[shards[i]] = &asked[i]
	}
	return fanOut(ctx, s, s.reads, b, shards, func(ctx context.Context, node redis.UniversalClient, shards []int) ([]answer[rows], error) {
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
		answers := make([]answer[rows], len(shards))
		for i, shard := range shards {
			answers[i].value, answers[i].err = a.takeTold(of[shard], all[i].rows, all[i].changed)
		}
		return answers, sickness(commands)
	})
}

// takeTold reads a shard's answer.
func (a *about) takeTold(t *told, found *redis.Cmd, changed *redis.StringCmd) (rows, error) {
	list, err := found.Result()
	meta, err2 := changed.Result()
	if err2 == redis.Nil { //nolint:errorlint // the season is not there, and a command's own error is not wrapped
		meta, err2 = "", nil
	}
	if err = worst(err, err2); err != nil {
		return rows{}, err
	}
	if !t.still(meta) {
		return rows{}, errChanged
	}
	return a.entries(list, t.most)
}

// still reports whether meta names the message that the counter knew of.
func (t *told) still(meta string) bool {
	if t.changed.IsNone() {
		return meta == ""
	}
	return strings.HasSuffix(meta, " "+t.changed.String())
}
