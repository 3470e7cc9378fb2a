package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Counter knows how many members stand at each score of a board, over all its shards: the count index of this
// process, or a core's that is asked for it. Where it does not know, shards are asked, as if there were none.
type Counter interface {
	// Above counts the members at and before a key, as shards were between the question and the answer. It fails with
	// rankcore.ErrMoved when the user's shard is to be read again; any other error is that it cannot tell.
	Above(ctx context.Context, q rankcore.AboveQuery) (rankcore.Above, error)
	// Head tells where the first members of a season stand, as shards were between the question and the answer.
	Head(ctx context.Context, q rankcore.HeadQuery) (rankcore.Head, error)
	// Stretch tells between which keys the members around a key stand, and how many do, as shards were between the
	// question and the answer.
	Stretch(ctx context.Context, q rankcore.StretchQuery) (rankcore.Stretch, error)
	// Places counts the members at and before several keys, all at one moment, as shards were between the question and
	// the answer.
	Places(ctx context.Context, q rankcore.PlacesQuery) (rankcore.Places, error)
	// Segments are the members by segment, as shards were between the question and the answer.
	Segments(ctx context.Context, board rankcore.BoardID, season rankcore.SeasonID) (rankcore.SegmentCounts, error)
}

// noCounter never knows.
type noCounter struct{}

func (noCounter) Above(context.Context, rankcore.AboveQuery) (rankcore.Above, error) {
	return rankcore.Above{}, rankcore.ErrNotCounted
}

func (noCounter) Head(context.Context, rankcore.HeadQuery) (rankcore.Head, error) {
	return rankcore.Head{}, rankcore.ErrNotCounted
}

func (noCounter) Stretch(context.Context, rankcore.StretchQuery) (rankcore.Stretch, error) {
	return rankcore.Stretch{}, rankcore.ErrNotCounted
}

func (noCounter) Places(context.Context, rankcore.PlacesQuery) (rankcore.Places, error) {
	return rankcore.Places{}, rankcore.ErrNotCounted
}

func (noCounter) Segments(context.Context, rankcore.BoardID, rankcore.SeasonID) (rankcore.SegmentCounts, error) {
	return rankcore.SegmentCounts{}, rankcore.ErrNotCounted
}

// counted is the user's exact rank by the counter, nil when it cannot tell. own is read again where its shard has
// changed before the counter could answer; then it is the newer reading, for whoever goes on with it.
func (s *Store) counted(ctx context.Context, q rankcore.RankQuery, begun time.Time, own *ownScore) (*rankcore.Standing, error) {
	for range readTries {
		above, err := s.counter.Above(ctx, rankcore.AboveQuery{
			Board: q.Board, Season: q.Season, Key: q.Board.Order.Key(own.score), Shard: q.Board.Shard(q.User), Changed: own.changed,
		})
		if err == nil && q.Board.Ties == rankcore.TiesFirst && above.Tied > 1 {
			return nil, nil // the counter does not know who came first
		}
		if err == nil {
			m := rankcore.Meta{
				Season: q.Season, Status: rankcore.Fresh, AsOf: begun,
				Version: rankcore.Newer(above.Version, own.changed), Total: above.Total,
			}
			st := &rankcore.Standing{Meta: m, User: q.User, Score: own.score, Arrival: own.arrival}
			st.SetExact(q.Board.Ties, above.Before, 0, above.Tied)
			return st, nil
		}
		if !errors.Is(err, rankcore.ErrMoved) {
			return nil, nil //nolint:nilerr // shards are asked, and say themselves when they cannot be reached
		}
		again, err := s.score(ctx, q)
		if err != nil {
			return nil, err
		}
		*own = *again
	}
	return nil, nil
}

// countedSegments is the aggregate as the counter has it.
func (s *Store) countedSegments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, asOf time.Time) (*aggregate, bool) {
	counts, err := s.counter.Segments(ctx, b.ID, season)
	if err != nil || len(counts.Changed) != b.Shards {
		return nil, false
	}
	a := &aggregate{
		meta:    rankcore.Meta{Season: season, Status: rankcore.Fresh, AsOf: asOf, Version: counts.Version, Total: counts.Total},
		changed: counts.Changed, edges: make([]int64, 0, len(counts.Segments)), before: make([]int64, 0, len(counts.Segments)+1),
	}
	sum := int64(0)
	for _, g := range counts.Segments {
		a.edges, a.before = append(a.edges, int64(g.Segment)), append(a.before, sum)
		sum += g.Members
	}
	a.before = append(a.before, sum)
	return a, slices.IsSorted(a.edges)
}
