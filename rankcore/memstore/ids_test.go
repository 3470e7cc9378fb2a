package memstore

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// TestMemoryAgainstMap: the id memory is a map that forgets, whatever times come in whatever order.
func TestMemoryAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		board := &rankcore.Board{Dedupe: rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 10 * time.Minute, 1000 * time.Hour}).Draw(rt, "dedupe")}
		m := newMemory(board, maphash.MakeSeed())
		span := board.Dedupe.Milliseconds() + 2*rankcore.IDSlack.Milliseconds()
		type kept struct {
			stored int64
			digest uint32
		}
		want := map[string]kept{}
		now := rapid.SampledFrom([]int64{0, 1_800_000_000_000}).Draw(rt, "start")
		for i := range rapid.IntRange(1, 300).Draw(rt, "operations") {
			now += rapid.Int64Range(-span/20, span/5).Draw(rt, "passed")
			id := fmt.Sprint(rapid.IntRange(0, 40).Draw(rt, "id"))
			key := (&rankcore.Op{User: "u", ID: id}).Key()
			m.remember(&key, now, uint32(i), rankcore.Applied)
			want[id] = kept{now, uint32(i)}
			m.forget(now - span)
			if len(m.buckets) > 8 {
				rt.Fatalf("%d buckets", len(m.buckets))
			}
			for id, k := range want {
				key := (&rankcore.Op{User: "u", ID: id}).Key()
				stored, r := m.recall(&key)
				switch {
				case r == nil && k.stored >= now-span:
					rt.Fatalf("%s, stored %d ms ago, is forgotten", id, now-k.stored)
				case r == nil:
					delete(want, id)
				case stored != k.stored || r.digest != k.digest:
					rt.Fatalf("%s: stored %d, digest %d; want %+v", id, stored, r.digest, k)
				}
			}
		}
		seen := map[rankcore.OpKey]bool{}
		for _, b := range m.buckets {
			frozen := b.freeze()
			frozen.scan(func(_ int64, r *record) {
				if seen[r.key] {
					rt.Fatalf("%x is there twice", r.key)
				}
				seen[r.key] = true
			})
		}
		if len(seen) != len(want) {
			rt.Fatalf("%d keys to be saved, want %d", len(seen), len(want))
		}
	})
}
