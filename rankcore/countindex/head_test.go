package countindex

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// TestHeadIsWhereTheFirstMembersStand: whatever comes and goes, a head that answers says in which shards the first members
// stand, and where nothing was forgotten it answers.
func TestHeadIsWhereTheFirstMembersStand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const shards = 4
		h := headOf(&rankcore.Board{Head: rapid.SampledFrom([]int{1, 40}).Draw(rt, "head")})
		type member struct {
			key   int64
			shard int
		}
		var there []member
		for range rapid.IntRange(0, 600).Draw(rt, "changes") {
			if len(there) > 0 && rapid.IntRange(0, 3).Draw(rt, "what") == 0 {
				i := rapid.IntRange(0, len(there)-1).Draw(rt, "who")
				if !h.add(there[i].shard, there[i].key, -1) {
					rt.Fatalf("%+v was not there", there[i])
				}
				there = slices.Delete(there, i, i+1)
				continue
			}
			m := member{rapid.Int64Range(0, 300).Draw(rt, "key"), rapid.IntRange(0, shards-1).Draw(rt, "shard")}
			if !h.add(m.shard, m.key, 1) {
				rt.Fatalf("%+v cannot come", m)
			}
			there = append(there, m)
		}
		if len(h.places) > h.most {
			rt.Fatalf("%d places", len(h.places))
		}
		slices.SortFunc(there, func(a, b member) int { return int(a.key - b.key) })
		n := rapid.IntRange(1, 400).Draw(rt, "rows")
		got := make([]rankcore.ShardHead, shards)
		key, ok := h.spread(int64(n), got)
		if !ok {
			if !h.cut {
				rt.Fatalf("the first %d of %d are not known, and nothing was forgotten", n, len(there))
			}
			return
		}
		last := int64(rankcore.MaxScore)
		if n <= len(there) {
			last = there[n-1].key
		}
		want := make([]rankcore.ShardHead, shards)
		for _, m := range there {
			if m.key <= last {
				want[m.shard].Rows++
			}
		}
		if key != last || !slices.Equal(got, want) {
			rt.Fatalf("the first %d reach to %d, in %+v, want %d, %+v", n, key, got, last, want)
		}
	})
}
