package redisstore

import (
	"context"
	"sync"
	"time"

	"rankgate/rankcore"
)

// Last counts of a season are forgotten when nobody has asked for so long, and then only when there are many.
const (
	mostLastCounts = 64
	forgetCounts   = 10 * time.Minute
)

// lastCounts are the newest segment counts of seasons that were of all shards. Safe for concurrent use.
type lastCounts struct {
	mu   sync.Mutex // guards kept
	kept map[seasonKey]*usedCounts
}

type usedCounts struct {
	*aggregate
	used time.Time
}

func (l *lastCounts) keep(key seasonKey, a *aggregate, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.kept[key]; old != nil && old.meta.AsOf.After(a.meta.AsOf) {
		return
	}
	l.kept[key] = &usedCounts{a, now}
	for k, c := range l.kept {
		if len(l.kept) > mostLastCounts && k != key && now.Sub(c.used) > forgetCounts {
			delete(l.kept, k)
		}
	}
}

// last is nil when nothing is known.
func (l *lastCounts) last(key seasonKey, now time.Time) *aggregate {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.kept[key]
	if c == nil {
		return nil
	}
	c.used = now
	return c.aggregate
}

// segmentCounts are the segment counts that a rank is estimated from. Where not all shards tell theirs in time, they are
// those of the last moment at which all did, and marked: bounds that are true for that moment. Counts of the shards that
// answer alone would improve everybody's rank.
func (s *Store) segmentCounts(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID) (*aggregate, error) {
	key := seasonKey{b.ID, season}
	last := s.lastCounts.last(key, time.Now())
	patience := s.readTimeout
	if last == nil {
		patience = s.stepTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	counts, err := s.segmentsOf(bounded, b, season)
	if err == nil {
		s.lastCounts.keep(key, counts, time.Now())
		return counts, nil
	}
	if last == nil || ctx.Err() != nil {
		return nil, err
	}
	marked := *last
	marked.meta = partial(ctx, last.meta, err)
	return &marked, nil
}
