package countindex

import (
	"slices"

	"rankgate/rankcore"
)

// The answers of a board that is certain of the season and held for reading: see ask.

func (b *board) above(q rankcore.AboveQuery, a *rankcore.Above) verdict {
	s := b.seasons[q.Season]
	have := rankcore.Position{}
	if s != nil {
		have = s.changed[q.Shard]
	}
	switch {
	case have == q.Changed:
	case rankcore.Newer(have, q.Changed) == have:
		return moved
	case len(b.underWay) > 0: // the step that the reader saw
		return wait
	default: // somebody else's step
		return notCounted
	}
	if s != nil {
		a.Before, a.Tied = s.counts.Count(q.Key)
		a.Total, a.Version = s.counts.Total(), s.version
	}
	return counted
}

func (b *board) head(q rankcore.HeadQuery, h *rankcore.Head) verdict {
	if !b.made() {
		return notCounted
	}
	h.Last, h.Shards = rankcore.MaxScore, make([]rankcore.ShardHead, b.Shards)
	s := b.seasons[q.Season]
	if s == nil {
		return counted
	}
	key, ok := s.head.spread(q.Rows, h.Shards)
	if !ok {
		h.Shards = nil
		if key, ok = s.counts.Nth(q.Rows); !ok {
			key = rankcore.MaxScore
		}
	}
	h.Last = key
	for i := range h.Shards {
		h.Shards[i].Members, h.Shards[i].Changed = s.members[i], s.changed[i]
	}
	return counted
}

func (b *board) places(q rankcore.PlacesQuery, p *rankcore.Places) verdict {
	if !b.made() {
		return notCounted
	}
	p.Before, p.Tied = make([]int64, len(q.Keys)), make([]int64, len(q.Keys))
	p.Changed = make([]rankcore.Position, b.Shards)
	if s := b.seasons[q.Season]; s != nil {
		for i, key := range q.Keys {
			p.Before[i], p.Tied[i] = s.counts.Count(key)
		}
		copy(p.Changed, s.changed)
		p.Total, p.Version = s.counts.Total(), s.version
		s.past.still(p.Changed, q.Seen, func(key int64) bool { return slices.Contains(q.Keys, key) })
	}
	return counted
}

func (b *board) segments(id rankcore.SeasonID, c *rankcore.SegmentCounts) verdict {
	c.Changed = make([]rankcore.Position, b.Shards)
	if s := b.seasons[id]; s != nil {
		copy(c.Changed, s.changed)
		c.Total, c.Version, c.Segments = s.counts.Total(), s.version, s.counts.Segments()
	}
	return counted
}
