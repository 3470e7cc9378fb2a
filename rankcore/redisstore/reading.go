package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
	script script
	board  *rankcore.Board
	season rankcore.SeasonID
	extra  []any
}

// read asks the given shards at once and waits for all: a shard that is missing would silently improve
// everybody's rank, so one that is not ready or does not answer fails the question. Readings stand in the order
// of shards.
func (s *Store) read(ctx context.Context, q question, shards []int) ([]reading, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	calls, args := make([]call, len(shards)), append([]any{seasonField(q.season)}, q.extra...)
	for i, shard := range shards {
		p := prefix(q.board, shard)
		calls[i] = call{[]string{p + "meta", p + string(q.season) + ":main"}, args}
	}
	list, layout := make([]reading, len(shards)), layout(q.board)
	for i, cmd := range s.run(ctx, s.reads, q.script, calls) {
		values, err := cmd.Slice()
		if err == nil && len(values) < 3 {
			err = errShape(values)
		}
		if err == nil {
			list[i], err = readingOf(layout, values[:2], integer(values[2]), values[3:])
		}
		if err != nil {
			return nil, unavailable(ctx, fmt.Errorf("shard %d of board %s: %w", shards[i], q.board.ID, err))
		}
	}
	return list, nil
}

// notReady is what keeps a shard out of every answer: it has taken nothing in yet, or is not whole.
type notReady string

func (n notReady) Error() string { return string(n) }

// readingOf checks what meta says, the layout and the season, against the layout a board has and the members there
// are. It compares the one count that can make a rank wrong; the applier's audit compares them all.
func readingOf(layout string, meta []any, members int64, rest []any) (r reading, err error) {
	if meta[0] == nil {
		return r, notReady("it has taken in nothing of the log")
	}
	if created := text(meta[0]); created != layout {
		return r, notReady("it was created as " + created + ", the board is " + layout)
	}
	r.rest = rest
	if meta[1] != nil {
		if r.members, r.changed, err = seasonMeta(text(meta[1])); err != nil {
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
