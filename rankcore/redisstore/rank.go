package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// Rank answers where a user stands. ErrNotRanked needs only the user's own shard to be whole; a rank needs all.
//
// An exact rank is counted by the counter, or on every shard, each at one moment between the call and its return. An
// estimate comes from segment counts that are at most the board's Freshness old. Auto is exact where the user may
// stand in the board's head, with a counter down to its ExactDepth, and estimates elsewhere. Where a shard other than
// the user's does not answer and no counter knows, it is an estimate from counts in which every shard is, and partial.
func (s *Store) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	begun := time.Now()
	own, err := s.score(ctx, q)
	if err != nil {
		return nil, err
	}
	var counts *aggregate
	if q.Precision != rankcore.Exact {
		if counts, err = s.segmentCounts(ctx, q.Board, q.Season); err != nil {
			return nil, err
		}
		st := counts.standing(q, own)
		if q.Precision == rankcore.Approx || st.Low > max(int64(q.Board.Head), q.Board.ExactDepth) {
			return st, nil
		}
	}
	if st, err := s.counted(ctx, q, begun, own); st != nil || err != nil {
		return st, err
	}
	if counts != nil {
		if st := counts.standing(q, own); st.Low > int64(q.Board.Head) || st.Status != rankcore.Fresh {
			return st, nil
		}
	}
	exact, err := s.countAll(ctx, q, begun)
	if err == nil || ctx.Err() != nil || errors.Is(err, rankcore.ErrNotRanked) {
		return exact, err
	}
	if counts == nil {
		var unknown error
		if counts, unknown = s.segmentCounts(ctx, q.Board, q.Season); unknown != nil {
			return nil, err
		}
	}
	return estimated(ctx, counts.standing(q, own), err), nil
}

// estimated is a standing in place of an exact one that could not be had because of why.
func estimated(ctx context.Context, st *rankcore.Standing, why error) *rankcore.Standing {
	st.Meta = partial(ctx, st.Meta, why)
	return st
}

// ownReading is a user's own shard at one moment.
type ownReading struct {
	ownScore
	better, tied int64 // members there that have a better score than the user, and that share its score
	before       int64 // members there that stand before the user, where ties go by arrival
}

// own reads a user's score and what it needs of its shard to be counted there. It runs a script, since the counts depend on
// the score and both must be of one moment.
func (s *Store) own(ctx context.Context, q rankcore.RankQuery) (ownReading, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	own := fanOut(ctx, s, s.reads, q.Board, []int{q.Board.Shard(q.User)}, func(ctx context.Context, node redis.UniversalClient, shards []int) ([]answer[ownReading], error) {
		floor := s.floors.of(q.Board, shards[0])[0]
		commands := s.run(ctx, node, ownScript, []call{{readKeys(q.Board, shards[0], q.Season), []any{seasonField(q.Season), string(q.User)}}})
		values, err := commands[0].Slice()
		a := answer[ownReading]{err: err}
		if err == nil {
			a.value, a.err = s.ownReading(q, shards[0], floor, values)
		}
		return []answer[ownReading]{a}, sickness(commands)
	})[0]
	if errors.Is(own.err, rankcore.ErrNotRanked) {
		return own.value, rankcore.ErrNotRanked
	}
	if own.err != nil {
		return own.value, unavailable(ctx, own.err)
	}
	return own.value, nil
}

// ownReading reads the script's answer.
func (s *Store) ownReading(q rankcore.RankQuery, shard int, floor rankcore.Position, values []any) (ownReading, error) {
	if len(values) < 4 {
		return ownReading{}, errShape(values)
	}
	r, err := s.readingOf(q.Board, q.Season, shard, floor, values[:3], integer(values[3]), values[4:])
	if err != nil {
		return ownReading{}, err
	}
	if len(r.answers) == 0 {
		return ownReading{}, rankcore.ErrNotRanked
	}
	if len(r.answers) != 6 || text(r.answers[2]) != string(q.User) {
		return ownReading{}, errors.New("an answer about another user")
	}
	key, err := keyOf(r.answers[3])
	if err != nil {
		return ownReading{}, err
	}
	own := ownReading{
		ownScore: ownScore{reading: r, score: q.Board.Order.Score(key)},
		better:   integer(r.answers[0]), tied: integer(r.answers[1]), before: integer(r.answers[5]),
	}
	own.arrival, _, err = splitMember(q.Board.Ties, text(r.answers[4]))
	return own, err
}

// countAll adds to the own shard's counts those of all others. The user's score and its shard's counts are of the same
// moment, so the user is counted once, at the score that is answered.
func (s *Store) countAll(ctx context.Context, q rankcore.RankQuery, begun time.Time) (*rankcore.Standing, error) {
	own, err := s.own(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.Board.Ties == rankcore.TiesFirst {
		return s.exactInTie(ctx, q, begun, own)
	}
	others := make([]int, 0, q.Board.Shards)
	for i := range q.Board.Shards {
		if i != q.Board.Shard(q.User) {
			others = append(others, i)
		}
	}
	key := strconv.FormatInt(q.Board.Order.Key(own.score), 10)
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	list, err := s.readAll(ctx, s.reads, question{name: "count", board: q.Board, season: q.Season, members: firstAnswer, ask: func(_ int, keys string) [][]any {
		return [][]any{{"ZCARD", keys + ":main"}, {"ZCOUNT", keys + ":main", "-inf", "(" + key}, {"ZCOUNT", keys + ":main", key, key}}
	}}, others)
	if err != nil {
		return nil, err
	}
	better, tied := own.better, own.tied
	for _, r := range list {
		better += integer(r.answers[1])
		tied += integer(r.answers[2])
	}
	st := &rankcore.Standing{Meta: meta(q.Season, begun, append(list, own.reading)), User: q.User, Score: own.score}
	st.SetExact(q.Board.Ties, better, 0, tied)
	return st, nil
}

// tieRows are how many rows of its tie each shard shows of itself when a place in it is looked for: most ties are
// shorter, and a longer one is searched by the script.
const tieRows = 4

// exactInTie is exact where ties go by arrival: all other shards are asked for the user's place, which they find
// wherever in a tie it is.
func (s *Store) exactInTie(ctx context.Context, q rankcore.RankQuery, begun time.Time, own ownReading) (*rankcore.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	o, home := q.Board.Order, q.Board.Shard(q.User)
	r := newRun("count", q.Board, q.Season, o.GapBefore(rankcore.Place{Score: own.score, Arrival: own.arrival, User: q.User}), 0)
	end := r.gap.Key + 1
	r.last, r.forth, r.edge = r.gap.Key, tieRows, &end
	r.slices[home] = slice{reading: own.reading, better: own.better, before: own.before, edge: &edge{end, own.better + own.tied}}
	if err := s.gather(ctx, r, slices.DeleteFunc(allShards(q.Board), func(shard int) bool { return shard == home })); err != nil {
		return nil, err
	}
	before, _ := r.counts()
	better, notWorse := r.better(), int64(0)
	for i := range r.slices {
		notWorse += r.slices[i].edge.below
	}
	st := &rankcore.Standing{Meta: r.meta(begun), User: q.User, Score: own.score, Arrival: own.arrival}
	st.SetExact(q.Board.Ties, better, before-better, notWorse-better)
	return st, nil
}
