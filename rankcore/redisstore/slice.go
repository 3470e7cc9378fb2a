package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// slice is what one shard has about a gap, of one moment.
type slice struct {
	reading
	better int64 // members with a smaller key than the gap's
	before int64 // members before the gap
	back   rows  // before the gap, the nearest first
	forth  rows  // behind the gap
	edge   *edge // when it was asked for
	inTie  bool  // the gap lies deeper in a tie than the rows asked for reach: only the script finds it

	lastKnown bool // the shard did not answer: this is what it had when it last did
}

// edge is how many members have a smaller key.
type edge struct{ key, below int64 }

// rows are members in order from a gap on.
type rows struct {
	list []rankcore.Entry
	all  bool // there are no more on this side
}

// drop leaves out the first rows that are outside, and tells how many. found: where they end is known.
func (r *rows) drop(outside func(rankcore.Entry) bool) (dropped int, found bool) {
	for dropped < len(r.list) && outside(r.list[dropped]) {
		dropped++
	}
	found = dropped < len(r.list) || r.all
	r.list = r.list[dropped:]
	return dropped, found
}

// about is what shards are asked for.
type about struct {
	order       rankcore.Order
	ties        rankcore.Ties
	gap         rankcore.Gap
	last        int64  // rows with larger keys are not wanted
	back, forth int    // rows of each shard; with a gap in the middle, forth is at least 1
	edge        *int64 // count the members with a smaller key
}

func number(key int64) string { return strconv.FormatInt(key, 10) }

// ask are plain commands that answer for a shard. Inside a tie they cannot begin at the gap, only at the tie's
// ends; most ties are short, and the few rows too many are dropped.
func (a *about) ask(main string) [][]any {
	commands := [][]any{{"ZCARD", main}}
	switch {
	case a.gap != rankcore.StartGap:
		key, end := number(a.gap.Key), "+inf"
		if a.last < rankcore.MaxScore {
			end = number(a.last)
		}
		commands = append(commands, []any{"ZCOUNT", main, "-inf", "(" + key},
			[]any{"ZRANGE", main, key, end, "BYSCORE", "LIMIT", 0, a.forth, "WITHSCORES"})
		if a.back > 0 {
			commands = append(commands, []any{"ZRANGE", main, key, "-inf", "BYSCORE", "REV", "LIMIT", 0, a.back, "WITHSCORES"})
		}
	case a.forth > 0 && a.last < rankcore.MaxScore:
		commands = append(commands, []any{"ZRANGE", main, "-inf", number(a.last), "BYSCORE", "LIMIT", 0, a.forth, "WITHSCORES"})
	case a.forth > 0:
		commands = append(commands, []any{"ZRANGE", main, 0, a.forth - 1, "WITHSCORES"})
	}
	if a.edge != nil {
		commands = append(commands, []any{"ZCOUNT", main, "-inf", "(" + number(*a.edge)})
	}
	return commands
}

// take reads the answers to ask; what of them is not ask's is left in the reading.
func (a *about) take(r reading) (s slice, err error) {
	s.reading = r
	answers := r.answers[1:]
	next := func() (answer any) {
		answer, answers = answers[0], answers[1:]
		return answer
	}
	switch {
	case a.gap != rankcore.StartGap:
		s.better = integer(next())
		if s.forth, err = a.entries(next(), a.forth); err != nil {
			return s, err
		}
		dropped, found := s.forth.drop(func(e rankcore.Entry) bool { return !a.precedes(e) })
		s.before, s.inTie = s.better+int64(dropped), !found
		if a.back == 0 {
			break
		}
		if s.back, err = a.entries(next(), a.back); err != nil {
			return s, err
		}
		_, found = s.back.drop(a.precedes)
		s.inTie = s.inTie || !found
	case a.forth > 0:
		if s.forth, err = a.entries(next(), a.forth); err != nil {
			return s, err
		}
	}
	if a.edge != nil {
		s.edge = &edge{*a.edge, integer(next())}
	}
	s.answers = answers
	return s, nil
}

func (a *about) precedes(e rankcore.Entry) bool {
	return a.gap.Precedes(a.order.Key(e.Score), e.Arrival, e.User)
}

// entries reads members and their keys, of which k were asked for, and leaves out what is beyond the last key.
func (a *about) entries(answer any, k int) (rows, error) {
	flat, _ := answer.([]any)
	found := rows{make([]rankcore.Entry, 0, len(flat)/2), len(flat)/2 < k}
	for i := 0; i+1 < len(flat); i += 2 {
		key, err := keyOf(flat[i+1])
		if err != nil {
			return found, err
		}
		if key > a.last {
			found.all = true
			break
		}
		e := rankcore.Entry{Score: a.order.Score(key)}
		if e.Arrival, e.User, err = splitMember(a.ties, text(flat[i])); err != nil {
			return found, err
		}
		found.list = append(found.list, e)
	}
	return found, nil
}

// below is how many members of the shard have a smaller key, false when the slice does not show it.
func (s *slice) below(a *about, key int64) (n int64, known bool) {
	o := a.order
	switch {
	case s.edge != nil && s.edge.key == key:
		return s.edge.below, true
	case key == a.gap.Key:
		return s.better, true
	case key > a.gap.Key:
		n = s.before
		for _, e := range s.forth.list {
			if o.Key(e.Score) >= key {
				return n, true
			}
			n++
		}
		return n, s.forth.all && key-1 <= a.last
	default:
		n = s.before
		for _, e := range s.back.list {
			if o.Key(e.Score) < key {
				return n, true
			}
			n--
		}
		return n, s.back.all
	}
}

// deepAnswer is what the script answers: a slice, and where the gap is.
type deepAnswer struct {
	slice
	at rankcore.Gap
}

// deep asks shards by the script, which finds the gap wherever it is. own: the gap is at its user, wherever the
// user stands; then a user who is not a member is ErrNotRanked.
func (s *Store) deep(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, a about, own bool, shards []int) []answer[deepAnswer] {
	key, member, edge := number(a.gap.Key), memberOf(a.ties, a.gap.Arrival, a.gap.User), ""
	if own {
		key, member = "", string(a.gap.User)
	}
	if a.edge != nil {
		edge = number(*a.edge)
	}
	return fanOut(ctx, s, s.reads, b, shards, func(ctx context.Context, node redis.UniversalClient, shards []int) ([]answer[deepAnswer], error) {
		calls := make([]call, len(shards))
		for i, shard := range shards {
			calls[i] = call{readKeys(b, shard, season), []any{seasonField(season), key, member, a.back, a.forth, edge}}
		}
		floors := s.floors.of(b, shards...)
		commands, answers := s.run(ctx, node, aboutScript, calls), make([]answer[deepAnswer], len(shards))
		for i, cmd := range commands {
			values, err := cmd.Slice()
			if err == nil {
				answers[i].value.slice, answers[i].value.at, err = s.deepSlice(b, season, shards[i], floors[i], a, member, values)
			}
			answers[i].err = err
		}
		return answers, sickness(commands)
	})
}

// deepSlice reads the script's answer about what was asked for, and where the gap is.
func (s *Store) deepSlice(b *rankcore.Board, season rankcore.SeasonID, shard int, floor rankcore.Position, a about, asked string, values []any) (part slice, at rankcore.Gap, err error) {
	if len(values) < 4 {
		return part, at, errShape(values)
	}
	if part.reading, err = s.readingOf(b, season, shard, floor, values[:3], integer(values[3]), nil); err != nil {
		return part, at, err
	}
	if len(values) == 4 {
		return part, at, rankcore.ErrNotRanked
	}
	if len(values) != 12 || text(values[9]) != asked {
		return part, at, errors.New("an answer about another user")
	}
	if at.Key, err = keyOf(values[10]); err != nil {
		return part, at, err
	}
	if at.Arrival, at.User, err = splitMember(a.ties, text(values[11])); err != nil {
		return part, at, err
	}
	part.better, part.before = integer(values[4]), integer(values[5])
	if part.back, err = a.entries(values[6], a.back); err != nil {
		return part, at, err
	}
	if part.forth, err = a.entries(values[7], a.forth); err != nil {
		return part, at, err
	}
	if a.edge != nil {
		part.edge = &edge{*a.edge, integer(values[8])}
	}
	return part, at, nil
}
