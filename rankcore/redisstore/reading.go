package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// readTries bounds how often shards are asked again that changed while they answered.
const readTries = 5

// reading is what one shard answered about one season, all of one moment.
type reading struct {
	members int64
	changed rankcore.Position // the message that last changed the season's scores there
	answers []any             // one for each command
}

// question asks shards about one season by plain commands. A script would make a Lua value of every row and count
// and turn it back, at twice the cost, or five times where there are many.
type question struct {
	name    string // for the metrics
	board   *rankcore.Board
	season  rankcore.SeasonID
	ask     func(shard int, keys string) [][]any // the commands; keys is how the season's keys in the shard begin
	members func(answers []any) int64            // how many members the answers are about
}

// read asks the given shards at once and waits for all: a shard that is missing would silently improve
// everybody's rank, so one that is not ready or does not answer fails the question. Readings stand in the order
// of shards.
func (s *Store) read(ctx context.Context, client redis.UniversalClient, q question, shards []int) ([]reading, error) {
	list, again := make([]reading, len(shards)), make([]int, len(shards)) // again: indexes of shards
	for i := range again {
		again[i] = i
	}
	for range readTries {
		var err error
		if again, err = s.readOnce(ctx, client, q, shards, again, list); err != nil {
			return nil, unavailable(ctx, err)
		}
		if len(again) == 0 {
			return list, nil
		}
	}
	return nil, &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: fmt.Errorf("%d shards of board %s changed while they answered, %d times", len(again), q.board.ID, readTries)}
}

// readOnce asks the shards of the given indexes, puts their readings into list and returns which are to be asked
// again. Meta is read before and after the commands: when it says the same, no step came between, and the answers
// are of one moment. Redis takes most of a pipeline without a pause, so that this is the rule.
func (s *Store) readOnce(ctx context.Context, client redis.UniversalClient, q question, shards, indexes []int, list []reading) (again []int, err error) {
	begun := time.Now()
	type sent struct {
		before, after *redis.SliceCmd
		commands      []*redis.Cmd
	}
	all, pipe, floors := make([]sent, len(indexes)), client.Pipeline(), s.floors.of(q.board, shards...)
	for j, i := range indexes {
		p := prefix(q.board, shards[i])
		all[j].before = pipe.HMGet(ctx, p+"meta", "layout", "position", seasonField(q.season))
		for _, command := range q.ask(shards[i], p+string(q.season)) {
			all[j].commands = append(all[j].commands, pipe.Do(ctx, command...))
		}
		all[j].after = pipe.HMGet(ctx, p+"meta", "layout", "position", seasonField(q.season))
	}
	_, err = pipe.Exec(ctx)
	relearn(ctx, client, err)
	s.metrics.calls.WithLabelValues(q.name).Observe(time.Since(begun).Seconds())
	for j, i := range indexes {
		before, err := all[j].before.Result()
		after, err2 := all[j].after.Result()
		answers, err3 := answersOf(all[j].commands)
		if err = errors.Join(err, err2, err3); err == nil {
			if before[0] != after[0] || before[2] != after[2] { // a step of other seasons alone is none of theirs
				again = append(again, i)
				continue
			}
			list[i], err = s.readingOf(q.board, shards[i], floors[i], before, q.members(answers), answers)
		}
		if err != nil {
			return nil, fmt.Errorf("shard %d of board %s: %w", shards[i], q.board.ID, err)
		}
	}
	return again, nil
}

func answersOf(commands []*redis.Cmd) ([]any, error) {
	answers := make([]any, len(commands))
	for i, cmd := range commands {
		var err error
		if answers[i], err = cmd.Result(); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// notReady is what keeps a shard out of every answer: it has taken nothing in yet, or is not whole.
type notReady string

func (n notReady) Error() string { return string(n) }

// readingOf checks what meta says, the layout, the position and the season, against the layout a board has, where
// the shard has been and the members there are. It compares the one count that can make a rank wrong; the applier's audit compares them all.
func (s *Store) readingOf(b *rankcore.Board, shard int, floor rankcore.Position, meta []any, members int64, answers []any) (r reading, err error) {
	if meta[0] == nil {
		return r, notReady("it has taken in nothing of the log")
	}
	if created := text(meta[0]); created != layout(b) {
		return r, notReady("it was created as " + created + ", the board is " + layout(b))
	}
	at, err := rankcore.ParsePosition(text(meta[1]))
	if err != nil {
		return r, err
	}
	if goneBack(at, floor) {
		return r, notReady("it has gone back to " + at.String())
	}
	s.floors.raise(shardID{b.ID, shard}, at)
	r.answers = answers
	if meta[2] != nil {
		if r.members, r.changed, err = seasonMeta(text(meta[2])); err != nil {
			return r, err
		}
	}
	if r.members != members {
		return r, notReady("its members differ from their count")
	}
	return r, nil
}

// seasonMeta reads what meta says of a season: members, members aside, expiry, newest change.
func seasonMeta(value string) (members int64, changed rankcore.Position, err error) {
	fields := strings.Fields(value)
	if len(fields) != 4 {
		return 0, changed, errors.New("meta is garbled")
	}
	if members, err = keyOf(fields[0]); err != nil {
		return 0, changed, err
	}
	changed, err = rankcore.ParsePosition(fields[3])
	return members, changed, err
}

// firstAnswer is for questions that ask for ZCARD first.
func firstAnswer(answers []any) int64 { return integer(answers[0]) }

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
		m.Version = rankcore.Newer(m.Version, r.changed)
	}
	return m
}
