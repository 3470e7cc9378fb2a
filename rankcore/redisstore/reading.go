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

// errChanged: a step came between the commands, so that the shard's answers are not of one moment.
var errChanged = errors.New("it changed while it answered")

// read asks the given shards at once, and those again that change while they answer. Answers stand in the order of
// shards, each a reading or why there is none.
func (s *Store) read(ctx context.Context, client redis.UniversalClient, q question, shards []int) []answer[reading] {
	answers := fanOut(ctx, s, client, q.board, shards, s.pipelineOf(q))
	for range readTries - 1 {
		var again, indexes []int
		for i := range answers {
			if errors.Is(answers[i].err, errChanged) {
				again, indexes = append(again, shards[i]), append(indexes, i)
			}
		}
		if len(again) == 0 {
			return answers
		}
		for j, a := range fanOut(ctx, s, client, q.board, again, s.pipelineOf(q)) {
			answers[indexes[j]] = a
		}
	}
	for i := range answers {
		if errors.Is(answers[i].err, errChanged) {
			answers[i].err = &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: fmt.Errorf("shard %d of board %s changed while it answered, %d times", shards[i], q.board.ID, readTries)}
		}
	}
	return answers
}

// readAll is read for questions that have no answer without every shard: one that is missing would silently improve
// everybody's rank.
func (s *Store) readAll(ctx context.Context, client redis.UniversalClient, q question, shards []int) ([]reading, error) {
	return whole(ctx, s.read(ctx, client, q, shards))
}

// whole are the values of answers, if none is missing.
func whole[T any](ctx context.Context, answers []answer[T]) ([]T, error) {
	values := make([]T, len(answers))
	for i, a := range answers {
		if a.err != nil {
			return nil, unavailable(ctx, a.err)
		}
		values[i] = a.value
	}
	return values, nil
}

// query is a question to one shard.
type query struct {
	*question
	shard int
}

// pipelineOf asks a node the question. Questions to one shard of a node share round trips; not with a suspect, which is
// to be asked alone.
func (s *Store) pipelineOf(q question) pipeline[reading] {
	return func(ctx context.Context, node redis.UniversalClient, shards []int) ([]answer[reading], error) {
		if len(shards) == 1 && !s.suspects.has(shardID{q.board.ID, shards[0]}, time.Now()) {
			a, sick := s.trips.ask(ctx, node, query{&q, shards[0]})
			return []answer[reading]{a}, sick
		}
		queries := make([]query, len(shards))
		for i, shard := range shards {
			queries[i] = query{&q, shard}
		}
		answers, sick := s.send(ctx, node, queries)
		return answers, worst(sick...)
	}
}

// send asks shards of a node in one round trip. For each query there is an answer, and an error if the node showed that it
// is sick. Meta is read before and after the commands: when it says the same, no step came between, and the answers are of
// one moment. Redis takes most of a pipeline without a pause, so that this is the rule.
func (s *Store) send(ctx context.Context, node redis.UniversalClient, queries []query) (answers []answer[reading], sick []error) {
	begun := time.Now()
	type sent struct {
		floor         rankcore.Position
		before, after *redis.SliceCmd
		commands      []*redis.Cmd
	}
	all, pipe := make([]sent, len(queries)), node.Pipeline()
	for i, q := range queries {
		p, field := prefix(q.board, q.shard), seasonField(q.season)
		all[i].floor = s.floors.of(q.board, q.shard)[0]
		all[i].before = pipe.HMGet(ctx, p+"meta", "layout", "position", field)
		for _, command := range q.ask(q.shard, p+string(q.season)) {
			all[i].commands = append(all[i].commands, pipe.Do(ctx, command...))
		}
		all[i].after = pipe.HMGet(ctx, p+"meta", "layout", "position", field)
	}
	_, _ = pipe.Exec(ctx) // every command carries its own error
	s.metrics.calls.WithLabelValues(queries[0].name).Observe(time.Since(begun).Seconds())
	answers, sick = make([]answer[reading], len(queries)), make([]error, len(queries))
	for i, q := range queries {
		a := &answers[i]
		before, err := all[i].before.Result()
		values, err2 := answersOf(all[i].commands)
		after, err3 := all[i].after.Result()
		switch a.err = worst(err, err2, err3); {
		case broken(a.err):
			sick[i] = a.err
		case a.err != nil:
		case before[0] != after[0] || before[2] != after[2]: // a step of other seasons alone is none of theirs
			a.err = errChanged
		default:
			a.value, a.err = s.readingOf(q.board, q.season, q.shard, all[i].floor, before, q.members(values), values)
		}
	}
	return answers, sick
}

// sickness is the first error of commands that shows a sick node.
func sickness[C redis.Cmder](commands []C) error {
	for _, c := range commands {
		if err := c.Err(); broken(err) {
			return err
		}
	}
	return nil
}

// worst is the error that says most: that of a sick node, or the first.
func worst(errs ...error) (first error) {
	for _, err := range errs {
		if broken(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
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
func (s *Store) readingOf(b *rankcore.Board, season rankcore.SeasonID, shard int, floor rankcore.Position, meta []any, members int64, answers []any) (r reading, err error) {
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
	s.lastRows.saw(seasonKey{b.ID, season}, shard, r.changed, time.Now())
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
