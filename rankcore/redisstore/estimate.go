package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"rankgate/rankcore"
)

// aggregate is how many members of a season stand in each segment, over all shards.
type aggregate struct {
	meta    rankcore.Meta
	changed []rankcore.Position // by shard, to tell whether anything there has changed since
	edges   []int64             // segments as keys, the best first
	before  []int64             // members in better segments than the edge's; one longer, the last is all members
}

// newAggregate sums up readings of all shards whose answer is the hash of segments.
func newAggregate(o rankcore.Order, season rankcore.SeasonID, asOf time.Time, list []reading) (*aggregate, error) {
	a := &aggregate{meta: meta(season, asOf, list)}
	counts := map[int64]int64{}
	for _, r := range list {
		a.changed = append(a.changed, r.changed)
		segments, err := segmentsOfReading(o, r)
		if err != nil {
			return nil, err
		}
		for _, g := range segments {
			counts[int64(g.Segment)] += g.Members
		}
	}
	for key := range counts {
		a.edges = append(a.edges, key)
	}
	slices.Sort(a.edges)
	sum := int64(0)
	for _, key := range a.edges {
		a.before = append(a.before, sum)
		sum += counts[key]
	}
	a.before = append(a.before, sum)
	return a, nil
}

// segmentKey turns a segment so that smaller stands first, as Order.Key does with scores.
func segmentKey(o rankcore.Order, g rankcore.Segment) int64 { return o.Key(rankcore.Score(g)) }

// standing places the user among the members the aggregate counted.
//
// The bounds hold for the rank of the user's score at the aggregate's time. Let the aggregate count B members in
// better segments and W in the score's own. If the user had this score then, it is one of the W, so at least B and
// at most B+W-1 others stand before it: ranks B+1 to B+W. Its score was read at another moment, though. If the
// own shard has changed in between, the user may have been counted elsewhere: among the B, so that only B-1
// others are sure to stand before it, or outside of W, so that all W may. One wider on either side covers both.
func (a *aggregate) standing(q rankcore.RankQuery, own *ownScore) *rankcore.Standing {
	i, _ := slices.BinarySearch(a.edges, segmentKey(q.Board.Order, rankcore.SegmentOf(own.score)))
	better, within := a.before[i], int64(0)
	if i < len(a.edges) && a.edges[i] == segmentKey(q.Board.Order, rankcore.SegmentOf(own.score)) {
		within = a.before[i+1] - better
	}
	e := rankcore.EstimateRank(q.Board.Order, own.score, better, within)
	m := a.meta
	if own.changed != a.changed[q.Board.Shard(q.User)] {
		e.Low, e.High = max(e.Low-1, 1), better+within+1
		m.Total = max(m.Total, e.Rank)
	}
	return &rankcore.Standing{
		Meta: m, User: q.User, Score: own.score, Arrival: own.arrival, Precision: rankcore.Approx, Rank: e.Rank, Low: e.Low, High: e.High,
		Percentile: rankcore.Percentile(m.Total-e.Rank, m.Total),
	}
}

type seasonKey struct {
	board  rankcore.BoardID
	season rankcore.SeasonID
}

// flight is one loading of an aggregate, under way or done. What it brought may be read once done is closed.
type flight struct {
	begun    time.Time
	done     chan struct{}
	segments *aggregate
	err      error
}

// estimates keeps the newest aggregate of each season that was asked for within the last minute.
type estimates struct {
	// mu guards kept. Never held while loading.
	mu   sync.Mutex
	kept map[seasonKey]*flight
}

const forgetAggregates = time.Minute // seasons nobody asks for any more

// join returns the flight to wait for, and whether the caller is the one to fly it.
func (e *estimates) join(key seasonKey, now time.Time, freshness time.Duration) (f *flight, mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f = e.kept[key]; f != nil && now.Sub(f.begun) < freshness {
		return f, false
	}
	for k, old := range e.kept {
		if now.Sub(old.begun) > max(freshness, forgetAggregates) {
			delete(e.kept, k)
		}
	}
	f = &flight{begun: now, done: make(chan struct{})}
	e.kept[key] = f
	return f, true
}

// drop forgets a flight that failed, so that the next reader tries anew.
func (e *estimates) drop(key seasonKey, f *flight) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept[key] == f {
		delete(e.kept, key)
	}
}

// segmentsOf returns an aggregate no older than the board's freshness. One reader loads for all that wait; it
// loads to the end even when its own caller has gone.
func (s *Store) segmentsOf(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID) (*aggregate, error) {
	key := seasonKey{b.ID, season}
	f, mine := s.estimates.join(key, time.Now(), b.Freshness)
	if mine {
		s.loads.Go(func() {
			defer close(f.done)
			if f.segments, f.err = s.loadSegments(context.WithoutCancel(ctx), b, season, f.begun); f.err != nil {
				s.estimates.drop(key, f)
			}
		})
	}
	select {
	case <-f.done:
		return f.segments, f.err
	case <-ctx.Done():
		return nil, unavailable(ctx, ctx.Err())
	}
}
