package countindex

import (
	"time"

	"rankgate/rankcore"
)

func (b *board) places(q rankcore.PlacesQuery, asked uint64, now time.Time) (p rankcore.Places, v verdict, news <-chan struct{}) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if v = b.certain(q.Season, asked, now); v == counted && !b.made() {
		v = notCounted
	}
	if v != counted {
		return p, v, b.news
	}
	p.Before, p.Tied = make([]int64, len(q.Keys)), make([]int64, len(q.Keys))
	p.Changed = make([]rankcore.Position, b.Shards)
	s := b.seasons[q.Season]
	if s == nil {
		return p, counted, nil
	}
	for i, key := range q.Keys {
		p.Before[i], p.Tied[i] = s.counts.Count(key)
	}
	copy(p.Changed, s.changed)
	p.Total, p.Version = s.counts.Total(), s.version
	return p, counted, nil
}
