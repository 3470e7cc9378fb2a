package countindex

import (
	"rankgate/rankcore"
	"rankgate/rankcore/tally"
)

func (b *board) stretch(q rankcore.StretchQuery, st *rankcore.Stretch) verdict {
	if !b.made() {
		return notCounted
	}
	st.First, st.Last, st.Changed = q.Key, q.End, make([]rankcore.Position, b.Shards)
	if s := b.seasons[q.Season]; s != nil {
		copy(st.Changed, s.changed)
		st.Total, st.Version = s.counts.Total(), s.version
		widen(st, &s.counts, q.Back, q.Forth)
		s.past.still(st.Changed, q.Seen, func(key int64) bool { return st.First <= key && key <= st.Last })
	}
	return counted
}

// widen widens st, which begins at a key and ends where it must end at the latest, to back members before that key,
// ends it forth members behind, and counts its members.
func widen(st *rankcore.Stretch, c *tally.Counts, back, forth int64) {
	before, tied := c.Count(st.First)
	if key, ok := c.Nth(max(before-back, 0) + 1); ok && key < st.First {
		st.First = key
	}
	if key, ok := c.Nth(before + tied + forth); ok && key < st.Last {
		st.Last = key
	}
	st.Before = c.Above(st.First)
	st.Rows = max(c.Above(st.Last+1)-st.Before, 0)
}
