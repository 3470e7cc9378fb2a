package rankcore

import "math/bits"

// Segment numbers a range of scores. Segments are log-linear: exact up to ±64, and beyond that each
// power of two is cut into 64 equal parts, so a segment is at most 1/64 of its scores wide.
// They stand in the same order as their scores.
type Segment int32

const segmentBits = 6 // 64 segments for each power of two

// SegmentOf is the segment that holds s.
func SegmentOf(s Score) Segment {
	if s < 0 {
		return -SegmentOf(-s)
	}
	if s < 1<<segmentBits {
		return Segment(s)
	}
	shift := bits.Len64(uint64(s)) - 1 - segmentBits
	return Segment(shift<<segmentBits + int(s>>shift))
}

// Bounds are the lowest and the highest score of the segment.
func (g Segment) Bounds() (lo, hi Score) {
	if g < 0 {
		lo, hi = (-g).Bounds()
		return -hi, -lo
	}
	if g < 1<<segmentBits {
		return Score(g), Score(g)
	}
	shift := int(g)>>segmentBits - 1
	lo = Score(int(g)-shift<<segmentBits) << shift
	return lo, min(lo+1<<shift-1, MaxScore)
}

// Edges are the segment's scores that stand first and last in this order.
func (o Order) Edges(g Segment) (best, worst Score) {
	lo, hi := g.Bounds()
	if o == Desc {
		return hi, lo
	}
	return lo, hi
}

// Estimate is a rank known by bounds that contain the true one.
type Estimate struct{ Rank, Low, High int64 }

// EstimateRank places score s when better members stand in better segments and within members
// (s's own included, so at least 1) share its segment. Inside the segment it interpolates.
func EstimateRank(o Order, s Score, better, within int64) Estimate {
	within = max(within, 1)
	best, worst := o.Edges(SegmentOf(s))
	e := Estimate{Low: better + 1, High: better + within, Rank: better + 1}
	if best != worst {
		part := float64(o.Key(s)-o.Key(best)) / float64(o.Key(worst)-o.Key(best))
		e.Rank += int64(part * float64(within-1))
	}
	return e
}
