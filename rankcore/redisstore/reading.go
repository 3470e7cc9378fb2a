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

// reading is what one shard answered about one season, all of one moment.
type reading struct {
	members int64
	changed rankcore.Position // the message that last changed the season's scores there
	rest    []any             // what the script adds
}

// question is a read script with what it asks of one season. extra are the script's own arguments.
type question struct {
	script   script
	board    *rankcore.Board
	season   rankcore.SeasonID
	segments bool // give the script the segments too
	extra    []any
}

// read asks the given shards at once and waits for all: a shard that is missing would silently improve
// everybody's rank, so one that is not ready or does not answer fails the question. Readings stand in the order
// of shards.
func (s *Store) read(ctx context.Context, q question, shards []int) ([]reading, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	return ask(ctx, s.reads, q, shards)
}

func ask(ctx context.Context, client redis.UniversalClient, q question, shards []int) ([]reading, error) {
	calls, args := make([]call, len(shards)), append([]any{"s:" + string(q.season)}, q.extra...)
	for i, shard := range shards {
		p := prefix(q.board, shard)
		keys := []string{p + "meta", p + string(q.season) + ":main"}
		if q.segments {
			keys = append(keys, p+string(q.season)+":segment")
		}
		calls[i] = call{keys, args}
	}
	list, layout := make([]reading, len(shards)), layout(q.board)
	for i, cmd := range run(ctx, client, q.script, calls) {
		r, err := readingOf(cmd, layout)
		if err != nil {
			return nil, unavailable(ctx, fmt.Errorf("shard %d of board %s: %w", shards[i], q.board.ID, err))
		}
		list[i] = r
	}
	return list, nil
}

// notReady is what keeps a shard out of every answer: it has taken nothing in yet, or is not whole.
type notReady string

func (n notReady) Error() string { return string(n) }

// readingOf checks what every read script answers first. It compares the one count that can make a rank wrong;
// the applier's audit compares them all.
func readingOf(cmd *redis.Cmd, layout string) (reading, error) {
	values, err := cmd.Slice()
	if err != nil {
		return reading{}, err
	}
	if len(values) < 3 {
		return reading{}, errShape(values)
	}
	if values[0] == nil {
		return reading{}, notReady("it has taken in nothing of the log")
	}
	if created := text(values[0]); created != layout {
		return reading{}, notReady("it was created as " + created + ", the board is " + layout)
	}
	r := reading{rest: values[3:]}
	if values[1] != nil {
		if r.members, r.changed, err = seasonMeta(text(values[1])); err != nil {
			return reading{}, err
		}
	}
	if r.members != integer(values[2]) {
		return reading{}, notReady("its members differ from their count")
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
