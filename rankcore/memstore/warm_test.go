package memstore

import (
	"bytes"
	"testing"

	"rankgate/rankcore"
)

// TestWarmChangesNothing: whatever operations are about to come, of users who are there and who are not.
func TestWarmChangesNothing(t *testing.T) {
	const members = 20 * warmFrom
	c := newCrowd(t, "", rankcore.TiesFirst, members)
	written := func(s *shard) []byte {
		var b bytes.Buffer
		if err := encode(t.Context(), &b, s.freeze()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, s := range c.store.boards[c.board.ID].shards {
		var ops []rankcore.PlacedOp
		for kind := rankcore.OpAdd; kind <= rankcore.OpShow; kind++ {
			for _, value := range []rankcore.Score{rankcore.MaxScore, -rankcore.MaxScore, 0, 70_000} {
				for _, user := range []int{c.rand.IntN(members), members + 1} {
					ops = append(ops, rankcore.PlacedOp{Op: rankcore.Op{User: crowdUser(user), Kind: kind, Value: value}, Seasons: allTime})
				}
			}
		}
		ready, err := s.prepare(ops)
		if err != nil {
			t.Fatal(err)
		}
		before := written(s)
		s.warm(ops, ready)
		if len(s.warmth.at) == 0 || !bytes.Equal(written(s), before) {
			t.Errorf("shard %d: %d leaves were read, and it changed: %v", s.index, len(s.warmth.at), !bytes.Equal(written(s), before))
		}
	}
}
