package memstore

import (
	"sort"

	"rankgate/rankcore"
)

// Sizes of nodes: a leaf is 1 KiB and an inner node 2 KiB, both exact sizes of Go's allocator.
const (
	leafMax  = 84
	innerMax = 50
	leafMin  = leafMax / 3
	innerMin = innerMax / 3
)

// entry is a member's place in the order: its key (see rankcore.Order), its arrival and its record.
type entry struct {
	key     int64
	arrival rankcore.Arrival
	ref     uint32
}

// leaf holds entries in order, in two arrays so that a search by key touches keys only. Arrivals and names are asked
// of the arena. It holds no pointers, so the garbage collector does not look into it.
type leaf struct {
	gen  uint32 // of the tree that may write it
	n    int32
	refs [leafMax]uint32
	keys [leafMax]int64
}

// inner holds subtrees in order. keys, arrivals and refs hold each subtree's lower bound: nothing in it stands
// before, and nothing left of it stands there or behind. The bound of the first one is not used. A bound
// outlives the entry it was made from, whose name stays in the arena while its arrival there may change.
type inner struct {
	gen      uint32
	n        int32
	counts   [innerMax]uint32 // entries in each subtree
	refs     [innerMax]uint32
	keys     [innerMax]int64
	arrivals [innerMax]rankcore.Arrival
	kids     [innerMax]node
}

// node is a leaf or an inner node; the other is nil.
type node struct {
	leaf  *leaf
	inner *inner
}

// tree is a B+tree of entries that knows how many stand in each subtree: order statistics in O(log n).
// Entries are ordered by key, then by arrival, then by name. A frozen copy costs O(1) and shares its nodes; a node is
// copied before it is written for the first time after that. Writers need the board's lock.
type tree struct {
	gen   uint32
	root  node
	size  int
	names *arena
}

// freeze returns a copy of the tree as it is now, which names finds its members' names.
func (t *tree) freeze(names *arena) tree {
	frozen := *t
	frozen.names = names
	t.gen++
	return frozen
}

// find is the number of entries in the leaf that stand before e.
func (l *leaf) find(t *tree, e entry) int { return t.find(l.keys[:l.n], l.refs[:l.n], nil, e) }

// find is the subtree that holds e or would.
func (n *inner) find(t *tree, e entry) int {
	i := t.find(n.keys[1:n.n], n.refs[1:n.n], n.arrivals[1:n.n], e)
	if i+1 < int(n.n) && n.keys[i+1] == e.key && n.arrivals[i+1] == e.arrival && t.names.name(n.refs[i+1]) == t.names.name(e.ref) {
		i++ // e made this bound, now or before it left and came back
	}
	return i
}

// find is how many of the entries, in order and in separate arrays, stand before e: by key, then by arrival, then by
// name, bytes ascending. Without arrivals the arena has those of the entries.
func (t *tree) find(keys []int64, refs []uint32, arrivals []rankcore.Arrival, e entry) int {
	lo := smaller(keys, e.key)
	if lo == len(keys) || keys[lo] != e.key {
		return lo
	}
	hi := lo + smaller(keys[lo:], e.key+1)
	name := t.names.name(e.ref)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if a := t.arrival(refs, arrivals, mid); a < e.arrival ||
			a == e.arrival && refs[mid] != e.ref && t.names.name(refs[mid]) < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// arrival is the i-th of some arrivals, which the arena has if they are not given.
func (t *tree) arrival(refs []uint32, arrivals []rankcore.Arrival, i int) rankcore.Arrival {
	if arrivals != nil {
		return arrivals[i]
	}
	return t.names.arrival(refs[i])
}

// before is how many entries stand before a gap.
func (t *tree) before(g rankcore.Gap) (count int) {
	at := t.root
	for at.inner != nil {
		n := at.inner
		i := t.cut(n.keys[1:n.n], n.refs[1:n.n], n.arrivals[1:n.n], g)
		for _, c := range n.counts[:i] {
			count += int(c)
		}
		at = n.kids[i]
	}
	if at.leaf == nil {
		return 0
	}
	return count + t.cut(at.leaf.keys[:at.leaf.n], at.leaf.refs[:at.leaf.n], nil, g)
}

// cut is how many of the entries, given as to find, stand before a gap.
func (t *tree) cut(keys []int64, refs []uint32, arrivals []rankcore.Arrival, g rankcore.Gap) int {
	lo := smaller(keys, g.Key)
	hi := lo
	if lo < len(keys) && keys[lo] == g.Key {
		hi += smaller(keys[lo:], g.Key+1)
	}
	return lo + sort.Search(hi-lo, func(i int) bool {
		if a := t.arrival(refs, arrivals, lo+i); a != g.Arrival {
			return a > g.Arrival
		}
		return t.names.name(refs[lo+i]) >= g.User // looked for only where it decides: it is seldom in the cache
	})
}

// smaller is how many of the keys, in order, are smaller than key. It takes the sign of the difference
// instead of comparing, so that no jump depends on the keys: half of those would be guessed wrong, at three
// times the cost. Scores keep within ±2^53, so differences do not overflow.
func smaller(keys []int64, key int64) int {
	base, n := 0, len(keys)
	for n > 1 {
		half := n / 2
		base += half & int((keys[base+half-1]-key)>>63)
		n -= half
	}
	if n == 1 {
		base -= int((keys[base] - key) >> 63)
	}
	return base
}

// scan yields the entries in order from the skip-th on, until yield returns false.
func (t *tree) scan(skip int, yield func(e entry) bool) { t.root.scan(t.names, skip, yield) }

func (at node) scan(names *arena, skip int, yield func(e entry) bool) bool {
	if n := at.inner; n != nil {
		for i := range int(n.n) {
			if skip >= int(n.counts[i]) {
				skip -= int(n.counts[i])
				continue
			}
			if !n.kids[i].scan(names, skip, yield) {
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
		if !yield(at.leaf.entry(names, i)) {
			return false
		}
	}
	return true
}

// entries appends the rows from the skip-th to before the (skip+limit)-th whose keys are from lo to hi. Their users
// are views of the arena, which is asked for those only.
func (t *tree) entries(o rankcore.Order, dst []rankcore.Entry, skip, limit int, lo, hi int64) []rankcore.Entry {
	t.scan(skip, func(e entry) bool {
		if limit--; limit < 0 || e.key > hi {
			return false
		}
		if e.key >= lo {
			dst = append(dst, rankcore.Entry{User: t.names.name(e.ref), Score: o.Score(e.key), Arrival: e.arrival})
		}
		return true
	})
	return dst
}
