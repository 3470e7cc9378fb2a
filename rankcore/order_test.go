package rankcore_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

func anyScore() *rapid.Generator[rankcore.Score] {
	return rapid.Custom(func(rt *rapid.T) rankcore.Score {
		limit := rapid.SampledFrom([]int64{3, 200, 1 << 20, rankcore.MaxScore}).Draw(rt, "limit")
		return rankcore.Score(rapid.Int64Range(-limit, limit).Draw(rt, "score"))
	})
}

func anyOrder() *rapid.Generator[rankcore.Order] {
	return rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc})
}

// A list is in order when every entry's rank is one more than the members that beat it, whatever the rule for ties.
func TestRanksCountWhoIsBetter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := anyOrder().Draw(rt, "order")
		b := &rankcore.Board{Order: o, Ties: rapid.SampledFrom([]rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst}).Draw(rt, "ties")}
		var all []rankcore.Entry
		for i, s := range rapid.SliceOf(rapid.Map(rapid.Int64Range(0, 5), func(n int64) rankcore.Score { return rankcore.Score(n) })).Draw(rt, "scores") {
			e := rankcore.Entry{User: rankcore.UserID(rune('a' + i)), Score: s}
			if b.Ties == rankcore.TiesFirst {
				e.Arrival = rankcore.Arrival(rapid.IntRange(0, 9).Draw(rt, "arrival"))
			}
			all = append(all, e)
		}
		lists := make([][]rankcore.Entry, 4)
		for i, e := range all {
			lists[i%4] = append(lists[i%4], e)
		}
		for _, l := range lists {
			slices.SortFunc(l, o.Compare)
		}
		merged := rankcore.Merge(o, lists, len(all))
		if len(merged) != len(all) || !slices.IsSortedFunc(merged, o.Compare) {
			rt.Fatalf("not all in order: %v", merged)
		}
		better := func(s rankcore.Score) (n int64) {
			for _, e := range all {
				if o.Better(e.Score, s) {
					n++
				}
			}
			return n
		}
		from := rapid.IntRange(0, len(merged)).Draw(rt, "from")
		part := slices.Clone(merged[from:])
		if len(part) > 0 {
			b.Ties.SetRanks(part, better(part[0].Score), int64(from))
		}
		for _, e := range part {
			rank := int64(1)
			for _, other := range all {
				if b.Ahead(other, e) {
					rank++
				}
			}
			if e.Rank != rank {
				rt.Fatalf("%v is of rank %d", e, rank)
			}
		}
	})
}

func TestKeysMirrorOrders(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := anyScore().Draw(rt, "a"), anyScore().Draw(rt, "b")
		for _, o := range []rankcore.Order{rankcore.Desc, rankcore.Asc} {
			if o.Score(o.Key(a)) != a {
				rt.Fatalf("%v: the key of %d leads to %d", o, a, o.Score(o.Key(a)))
			}
		}
		if rankcore.Desc.Better(a, b) != rankcore.Asc.Better(b, a) {
			rt.Fatalf("%d and %d: asc is not the mirror of desc", a, b)
		}
	})
}

func TestPercentileOfTheOthers(t *testing.T) {
	for _, c := range []struct {
		worse, total int64
		want         float64
	}{{0, 1, 100}, {0, 0, 100}, {1, 2, 100}, {0, 2, 0}, {1, 3, 50}, {2, 4, 66.6667}, {87_200_000, 100_000_000, 87.2}} {
		if got := rankcore.Percentile(c.worse, c.total); got != c.want {
			t.Errorf("%d of %d worse: got %v, want %v", c.worse, c.total, got, c.want)
		}
	}
}

func TestSegmentsHoldTheirScores(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := anyScore().Draw(rt, "a"), anyScore().Draw(rt, "b")
		g := rankcore.SegmentOf(a)
		lo, hi := g.Bounds()
		if a < lo || a > hi || rankcore.SegmentOf(lo) != g || rankcore.SegmentOf(hi) != g {
			rt.Fatalf("%d is in segment %d of %d..%d", a, g, lo, hi)
		}
		if next, _ := (g + 1).Bounds(); hi < rankcore.MaxScore && next != hi+1 {
			rt.Fatalf("a gap: segment %d ends at %d and the next begins at %d", g, hi, next)
		}
		if width, least := hi-lo, min(max(lo, -lo), max(hi, -hi)); width > 0 && width+1 > (least+63)/64 {
			rt.Fatalf("segment %d of %d..%d is wider than 1/64", g, lo, hi)
		}
		if a < b && rankcore.SegmentOf(a) > rankcore.SegmentOf(b) {
			rt.Fatalf("%d and %d: segments are not in order", a, b)
		}
	})
}

func TestEstimatesContainTheRank(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := anyOrder().Draw(rt, "order")
		scores := rapid.SliceOfN(anyScore(), 1, 300).Draw(rt, "scores")
		mine := scores[0]
		var better, within, rank int64 = 0, 0, 1
		best, _ := o.Edges(rankcore.SegmentOf(mine))
		for _, s := range scores {
			switch {
			case rankcore.SegmentOf(s) == rankcore.SegmentOf(mine):
				within++
			case o.Better(s, best):
				better++
			}
			if o.Better(s, mine) {
				rank++
			}
		}
		e := rankcore.EstimateRank(o, mine, better, within)
		if e.Low > rank || rank > e.High || e.Rank < e.Low || e.Rank > e.High {
			rt.Fatalf("rank %d of %d, estimated %+v", rank, mine, e)
		}
	})
}
