package memstore

import (
	"math"

	"rankgate/rankcore"
)

// Sizes of nodes: a leaf is 1 KiB and an inner node 2 KiB, both exact sizes of Go's allocator.
const (
	leafMax  = 84
	innerMax = 63
	leafMin  = leafMax / 3
	innerMin = innerMax / 3
)

// entry is a member's place in the order: its key (see rankcore.Order) and its record.
type entry struct {
	key int64
	ref uint32
}

// leaf holds entries in order, in two arrays so that a search by key touches keys only. It holds no
// pointers, so the garbage collector does not look into it.
type leaf struct {
	gen  uint32 // of the tree that may write it
	n    int32
	refs [leafMax]uint32
	keys [leafMax]int64
}

// inner holds subtrees in order. keys and refs hold each subtree's lower bound: nothing in it stands
// before, and nothing left of it stands there or behind. The bound of the first one is not used. A bound
// outlives the entry it was made from, whose name stays in the arena.
type inner struct {
	gen    uint32
	n      int32
	counts [innerMax]uint32 // entries in each subtree
	refs   [innerMax]uint32
	keys   [innerMax]int64
	kids   [innerMax]node
}

// node is a leaf or an inner node; the other is nil.
type node struct {
	leaf  *leaf
	inner *inner
}

// tree is a B+tree of entries that knows how many stand in each subtree: order statistics in O(log n).
// Entries are ordered by key, then by name. A frozen copy costs O(1) and shares its nodes; a node is
// copied before it is written for the first time after that. Writers need the shard's lock.
type tree struct {
	gen   uint32
	root  node
	size  int
	names *arena
}

// before reports whether a stands before b: by key, then by name, bytes ascending.
func (t *tree) before(a, b entry) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	return a.ref != b.ref && t.names.name(a.ref) < t.names.name(b.ref)
}

// freeze returns a copy of the tree as it is now, which names finds its members' names.
func (t *tree) freeze(names *arena) tree {
	frozen := *t
	frozen.names = names
	t.gen++
	return frozen
}

// find is the number of entries in the leaf that stand before e.
func (l *leaf) find(t *tree, e entry) int {
	lo, hi := 0, int(l.n)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.before(entry{l.keys[mid], l.refs[mid]}, e) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// find is the subtree that holds e or would.
func (n *inner) find(t *tree, e entry) int {
	lo, hi := 1, int(n.n)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.before(e, entry{n.keys[mid], n.refs[mid]}) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo - 1
}

// below is how many entries have a smaller key.
func (t *tree) below(key int64) int64 {
	below := int64(0)
	at := t.root
	for at.inner != nil {
		n := at.inner
		lo, hi := 1, int(n.n)
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			if n.keys[mid] < key {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		for _, c := range n.counts[:lo-1] {
			below += int64(c)
		}
		at = n.kids[lo-1]
	}
	if at.leaf != nil {
		below += int64(at.leaf.below(key))
	}
	return below
}

// below is how many entries of the leaf have a smaller key.
func (l *leaf) below(key int64) int {
	lo, hi := 0, int(l.n)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l.keys[mid] < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// upTo is how many entries have this key or a smaller one.
func (t *tree) upTo(key int64) int64 {
	if key == math.MaxInt64 {
		return int64(t.size)
	}
	return t.below(key + 1)
}

// scan yields the entries in order from the skip-th on, until yield returns false.
func (t *tree) scan(skip int, yield func(e entry) bool) { t.root.scan(skip, yield) }

func (at node) scan(skip int, yield func(e entry) bool) bool {
	if n := at.inner; n != nil {
		for i := range int(n.n) {
			if skip >= int(n.counts[i]) {
				skip -= int(n.counts[i])
				continue
			}
			if !n.kids[i].scan(skip, yield) {
				return false
			}
			skip = 0
		}
		return true
	}
	if at.leaf == nil {
		return true
	}
	for i := skip; i < int(at.leaf.n); i++ {
		if !yield(entry{at.leaf.keys[i], at.leaf.refs[i]}) {
			return false
		}
	}
	return true
}

// entries returns up to limit rows from the skip-th on. Their users are views of the arena.
func (t *tree) entries(o rankcore.Order, dst []rankcore.Entry, skip, limit int) []rankcore.Entry {
	t.scan(skip, func(e entry) bool {
		if limit--; limit < 0 {
			return false
		}
		dst = append(dst, rankcore.Entry{User: t.names.name(e.ref), Score: o.Score(e.key)})
		return true
	})
	return dst
}
