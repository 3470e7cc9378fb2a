package countindex

import (
	"cmp"
	"slices"

	"rankgate/rankcore"
)

// head knows in which shards the first members of a season stand: how many at each key, for all keys up to reach. It is
// how the top is read from the shards that have it, and no other. What is beyond is forgotten when there is too much of it,
// and not found again when the members before it leave: a head that has become too short is no longer asked.
type head struct {
	places []place // in order
	cut    bool    // there are no places beyond reach
	reach  int64
	most   int // places
}

// place is how many members of one shard stand at one key.
type place struct {
	key, members int64
	shard        int
}

// headOf is the head of a season in which nobody stands.
func headOf(b *rankcore.Board) head { return head{most: max(4*b.Head, 64)} }

// add changes how many members of a shard stand at a key, and is false where fewer than none would be left.
func (h *head) add(shard int, key, n int64) bool {
	if h.cut && key > h.reach {
		return true
	}
	i, found := slices.BinarySearchFunc(h.places, place{key: key, shard: shard}, func(p, q place) int {
		return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.shard, q.shard))
	})
	switch {
	case !found && n < 0 || found && h.places[i].members+n < 0:
		return false
	case !found:
		h.places = slices.Insert(h.places, i, place{key, n, shard})
	case h.places[i].members+n == 0:
		h.places = slices.Delete(h.places, i, i+1)
	default:
		h.places[i].members += n
	}
	if len(h.places) > h.most {
		h.shorten()
	}
	return true
}

// shorten forgets the last places, about half of them, and all that share a key.
func (h *head) shorten() {
	beyond := h.places[h.most/2].key
	i, _ := slices.BinarySearchFunc(h.places, beyond, func(p place, key int64) int { return cmp.Compare(p.key, key) })
	h.places, h.cut, h.reach = h.places[:i], true, beyond-1
}

// spread counts for each shard its members among the first n, and those that share the last one's key, which it returns.
// Where there are fewer than n members, all are counted and the key is past every other. It is false where the head does
// not reach that far.
func (h *head) spread(n int64, shards []rankcore.ShardHead) (key int64, ok bool) {
	for _, p := range h.places {
		if n <= 0 && p.key != key {
			return key, true
		}
		key = p.key
		n -= p.members
		shards[p.shard].Rows += p.members
	}
	switch {
	case !h.cut && n > 0:
		return rankcore.MaxScore, true
	default:
		return key, n <= 0
	}
}
