package countindex

import "rankgate/rankcore"

// SegmentCount is how many members stand in a segment. Segments of keys mirror those of scores on a descending
// board, as keys do: Segment is rankcore.SegmentOf of the key.
type SegmentCount struct {
	Segment rankcore.Segment
	Members int64
}

// Segments are the segments in which members stand, the first first. It costs two lookups for each, of which there
// are some hundreds, however many members there are.
func (c *Counts) Segments() []SegmentCount {
	var list []SegmentCount
	for before := int64(0); before < c.total; {
		key, _ := c.Nth(before + 1)
		g := rankcore.SegmentOf(rankcore.Score(key))
		_, last := g.Bounds()
		through := c.Above(int64(last) + 1)
		list = append(list, SegmentCount{g, through - before})
		before = through
	}
	return list
}
