package memstore

func (at node) count() uint32 {
	if at.leaf != nil {
		return uint32(at.leaf.n)
	}
	sum := uint32(0)
	for _, c := range at.inner.counts[:at.inner.n] {
		sum += c
	}
	return sum
}

// sparse reports whether the node holds so little that its neighbour should take part of it, or give.
func (at node) sparse() bool {
	if at.leaf != nil {
		return at.leaf.n < leafMin
	}
	return at.inner.n < innerMin
}

func (at node) empty() bool {
	if at.leaf != nil {
		return at.leaf.n == 0
	}
	return at.inner.n == 0
}

// entry is the i-th entry of the leaf.
func (l *leaf) entry(names *arena, i int) entry {
	return entry{l.keys[i], names.arrival(l.refs[i]), l.refs[i]}
}

// shift makes room for by entries at place i.
func (l *leaf) shift(i, by int) {
	copy(l.keys[i+by:], l.keys[i:l.n])
	copy(l.refs[i+by:], l.refs[i:l.n])
	l.n += int32(by)
}

// cut removes the entries [i, i+by).
func (l *leaf) cut(i, by int) {
	copy(l.keys[i:], l.keys[i+by:l.n])
	copy(l.refs[i:], l.refs[i+by:l.n])
	l.n -= int32(by)
}

// take copies by entries of o from j on to place i.
func (l *leaf) take(i int, o *leaf, j, by int) {
	copy(l.keys[i:i+by], o.keys[j:])
	copy(l.refs[i:i+by], o.refs[j:])
}

func (l *leaf) insert(i int, e entry) {
	l.shift(i, 1)
	l.keys[i], l.refs[i] = e.key, e.ref
}

// split moves the upper half to a new leaf, or only the last entries when the leaf grows at its end:
// then few will come to the left part.
func (l *leaf) split(atEnd bool) *leaf {
	keep := leafMax / 2
	if atEnd {
		keep = leafMax * 7 / 8
	}
	r := &leaf{gen: l.gen, n: int32(leafMax - keep)}
	r.take(0, l, keep, leafMax-keep)
	l.n = int32(keep)
	return r
}

func (n *inner) bound(i int, e entry) { n.keys[i], n.arrivals[i], n.refs[i] = e.key, e.arrival, e.ref }

// lowest is the bound of the first subtree.
func (n *inner) lowest() entry { return entry{n.keys[0], n.arrivals[0], n.refs[0]} }

func (n *inner) shift(i, by int) {
	copy(n.counts[i+by:], n.counts[i:n.n])
	copy(n.keys[i+by:], n.keys[i:n.n])
	copy(n.arrivals[i+by:], n.arrivals[i:n.n])
	copy(n.refs[i+by:], n.refs[i:n.n])
	copy(n.kids[i+by:], n.kids[i:n.n])
	n.n += int32(by)
}

func (n *inner) cut(i, by int) {
	copy(n.counts[i:], n.counts[i+by:n.n])
	copy(n.keys[i:], n.keys[i+by:n.n])
	copy(n.arrivals[i:], n.arrivals[i+by:n.n])
	copy(n.refs[i:], n.refs[i+by:n.n])
	copy(n.kids[i:], n.kids[i+by:n.n])
	n.n -= int32(by)
	clear(n.kids[n.n : int(n.n)+by]) // else they would be kept alive
}

func (n *inner) take(i int, o *inner, j, by int) {
	copy(n.counts[i:i+by], o.counts[j:])
	copy(n.keys[i:i+by], o.keys[j:])
	copy(n.arrivals[i:i+by], o.arrivals[j:])
	copy(n.refs[i:i+by], o.refs[j:])
	copy(n.kids[i:i+by], o.kids[j:])
}

// put makes kid the i-th subtree.
func (n *inner) put(i int, kid node, bound entry) {
	n.shift(i, 1)
	n.kids[i], n.counts[i] = kid, kid.count()
	n.bound(i, bound)
}

// split moves the upper half to a new node.
func (n *inner) split() *inner {
	const keep = innerMax / 2
	r := &inner{gen: n.gen, n: innerMax - keep}
	r.take(0, n, keep, innerMax-keep)
	n.cut(keep, innerMax-keep)
	return r
}
