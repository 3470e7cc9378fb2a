package countindex

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
	"rankgate/rankcore/tally"
)

// TestAStretchHasWhoeverWasAskedFor: a stretch is as long as it must be, with whole ties, and counts its members.
func TestAStretchHasWhoeverWasAskedFor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.Int64Range(-30, 30)
		keys := rapid.SliceOfN(key, 0, 80).Draw(rt, "members")
		var counts tally.Counts
		for _, k := range keys {
			counts.Add(k, 1)
		}
		slices.Sort(keys)
		below := func(key int64) int64 {
			i, _ := slices.BinarySearch(keys, key)
			return int64(i)
		}
		at, end := key.Draw(rt, "key"), key.Draw(rt, "end")
		back, forth := rapid.Int64Range(0, 20).Draw(rt, "back"), rapid.Int64Range(1, 20).Draw(rt, "forth")
		first, last := at, end
		if i := below(at); i > 0 && back > 0 {
			first = keys[max(i-back, 0)]
		}
		if i := below(at+1) + forth; i <= int64(len(keys)) {
			last = min(last, keys[i-1])
		}
		want := rankcore.Stretch{First: first, Last: last, Before: below(first), Rows: max(below(last+1)-below(first), 0)}
		got := rankcore.Stretch{First: at, Last: end}
		widen(&got, &counts, back, forth)
		if got.First != want.First || got.Last != want.Last || got.Before != want.Before || got.Rows != want.Rows {
			rt.Fatalf("%d before %d and %d behind of %v: %+v, want %+v", back, at, forth, keys, got, want)
		}
	})
}
