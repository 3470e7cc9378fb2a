package countindex

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// TestShardsAreAsTheyWereSeen: a shard is told to be as somebody has seen it when nobody has come to one of the keys or left
// it since then, and is told as it is else. Of long ago nothing is known.
func TestShardsAreAsTheyWereSeen(t *testing.T) {
	const shards = 4
	rapid.Check(t, func(rt *rapid.T) {
		b := newBoard(&rankcore.Board{ID: "seen", Shards: shards, Head: 10})
		b.ready = true
		type moment struct {
			changed rankcore.Position
			moves   []rankcore.Move // of the step to it
		}
		moments := make([][]moment, shards) // of each shard, the last one now
		for shard := range moments {
			moments[shard] = []moment{{}}
			b.parts[shard].at.Seq = 1
		}
		key := rapid.Int64Range(-6, 6)
		atOnce := rapid.SampledFrom([]int{1, 3, mostPast / 3}).Draw(rt, "moves at once")
		for seq := range rapid.IntRange(0, 12).Draw(rt, "steps") {
			shard := rapid.IntRange(0, shards-1).Draw(rt, "shard")
			m := rankcore.SeasonMoves{Season: "all"}
			for range atOnce {
				m.Moves = append(m.Moves, rankcore.Move{Old: rankcore.NoKey, New: key.Draw(rt, "new")})
				if atOnce < 5 && rapid.Bool().Draw(rt, "moves on") {
					m.Moves[len(m.Moves)-1].Old = key.Draw(rt, "old")
				}
			}
			at := rankcore.Position{Seq: uint64(seq) + 2}
			b.follow(shard, &b.parts[shard], &m, at)
			moments[shard] = append(moments[shard], moment{at, m.Moves})
		}
		q := rankcore.PlacesQuery{Season: "all", Keys: []int64{-1, 2}}
		for shard, list := range moments {
			if rapid.Bool().Draw(rt, "seen") {
				q.Seen = append(q.Seen, rankcore.Seen{Shard: shard, Changed: rapid.SampledFrom(list).Draw(rt, "moment").changed})
			}
		}
		q.Seen = append(q.Seen, rankcore.Seen{Shard: shards, Changed: rankcore.Position{Seq: 9}}) // there is none
		var got rankcore.Places
		if v := b.places(q, &got); v != counted {
			rt.Fatalf("verdict %v", v)
		}
		for shard, list := range moments {
			now := list[len(list)-1].changed
			i := slices.IndexFunc(q.Seen, func(s rankcore.Seen) bool { return s.Shard == shard })
			if i < 0 {
				if got.Changed[shard] != now {
					rt.Fatalf("shard %d, which nobody saw, is as at %v, and it is at %v", shard, got.Changed[shard], now)
				}
				continue
			}
			seen, touched := q.Seen[i].Changed, false
			for _, m := range list[1+slices.IndexFunc(list, func(m moment) bool { return m.changed == seen }):] {
				touched = touched || slices.ContainsFunc(m.moves, func(m rankcore.Move) bool {
					return slices.Contains(q.Keys, m.Old) || slices.Contains(q.Keys, m.New)
				})
			}
			switch told := got.Changed[shard]; {
			case told != seen && told != now:
				rt.Fatalf("shard %d, seen at %v and now at %v, is as at %v", shard, seen, now, told)
			case touched && told == seen:
				rt.Fatalf("shard %d is told as it was at %v, and somebody has come or left since", shard, seen)
			case !touched && told != seen && atOnce < mostPast/12:
				rt.Fatalf("shard %d, to which nothing that matters has happened since %v, is as at %v", shard, seen, told)
			}
		}
		if s := b.seasons["all"]; s != nil && s.past.moves > mostPast {
			rt.Fatalf("%d moves are kept", s.past.moves)
		}
	})
}
