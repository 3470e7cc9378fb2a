package tally

import "rankgate/rankcore"

// Segments are the segments in which members stand, the first first. It costs two lookups for each, of which there
// are some hundreds, however many members there are.
func (c *Counts) Segments() []rankcore.SegmentCount {
	var list []rankcore.SegmentCount
	for before := int64(0); before < c.total; {
		key, _ := c.Nth(before + 1)
		g := rankcore.SegmentOf(rankcore.Score(key))
		_, last := g.Bounds()
		through := c.Above(int64(last) + 1)
		list = append(list, rankcore.SegmentCount{Segment: g, Members: through - before})
		before = through
	}
	return list
}
