package memstore

// insert adds an entry that is not in the tree.
func (t *tree) insert(e entry) {
	t.size++
	if t.root == (node{}) {
		t.root = node{leaf: &leaf{gen: t.gen}}
	}
	t.own(&t.root)
	right, bound := t.insertInto(t.root, e)
	if right == (node{}) {
		return
	}
	root := &inner{gen: t.gen}
	root.put(0, t.root, entry{})
	root.put(1, right, bound)
	t.root = node{inner: root}
}

// remove takes an entry out. It must be in the tree.
func (t *tree) remove(e entry) {
	t.size--
	t.own(&t.root)
	t.removeFrom(t.root, e)
	if n := t.root.inner; n != nil && n.n == 1 {
		t.root = n.kids[0]
	}
}

// own makes *at writable: it is copied if a frozen tree shares it.
func (t *tree) own(at *node) {
	switch {
	case at.inner != nil && at.inner.gen != t.gen:
		n := *at.inner
		n.gen = t.gen
		at.inner = &n
	case at.leaf != nil && at.leaf.gen != t.gen:
		l := *at.leaf
		l.gen = t.gen
		at.leaf = &l
	}
}

// insertInto adds e below at, which is owned. If at had to be split, right is its new right half and
// bound the lower bound of that.
func (t *tree) insertInto(at node, e entry) (right node, bound entry) {
	if l := at.leaf; l != nil {
		if l.n < leafMax {
			l.insert(l.find(t, e), e)
			return node{}, entry{}
		}
		r := l.split(e.key > l.keys[leafMax-1])
		if i := r.find(t, e); i > 0 {
			r.insert(i, e)
		} else {
			l.insert(l.find(t, e), e)
		}
		return node{leaf: r}, r.entry(t.names, 0)
	}
	n := at.inner
	i := n.find(t, e)
	t.own(&n.kids[i])
	n.counts[i]++
	kid, kidBound := t.insertInto(n.kids[i], e)
	if kid == (node{}) {
		return node{}, entry{}
	}
	n.counts[i] = n.kids[i].count()
	if n.n < innerMax {
		n.put(i+1, kid, kidBound)
		return node{}, entry{}
	}
	r := n.split()
	if i < int(n.n) {
		n.put(i+1, kid, kidBound)
	} else {
		r.put(i+1-int(n.n), kid, kidBound)
	}
	return node{inner: r}, r.lowest()
}

// removeFrom takes e out below at, which is owned.
func (t *tree) removeFrom(at node, e entry) {
	if l := at.leaf; l != nil {
		l.cut(l.find(t, e), 1)
		return
	}
	n := at.inner
	i := n.find(t, e)
	t.own(&n.kids[i])
	n.counts[i]--
	t.removeFrom(n.kids[i], e)
	if n.kids[i].sparse() && n.n > 1 {
		i = max(i, 1)
		t.own(&n.kids[i-1])
		t.own(&n.kids[i])
		n.level(i, t.names)
	}
}

// level evens out the subtrees i-1 and i, both owned, or makes them one where that leaves some room.
func (n *inner) level(i int, names *arena) {
	a, b := n.kids[i-1], n.kids[i]
	if a.leaf != nil {
		n.levelLeaves(i, a.leaf, b.leaf, names)
	} else {
		n.levelInners(i, a.inner, b.inner)
	}
	if b.empty() {
		n.cut(i, 1)
	} else {
		n.counts[i] = b.count()
	}
	n.counts[i-1] = a.count()
}

// evened is how much the first of two neighbours is to keep of what both have: half of it, or all where that leaves some
// room below most.
func evened(total int32, most int) int {
	if int(total) <= most*3/4 {
		return int(total)
	}
	return int(total) / 2
}

func (n *inner) levelLeaves(i int, a, b *leaf, names *arena) {
	keep := evened(a.n+b.n, leafMax)
	if move := keep - int(a.n); move > 0 {
		a.take(int(a.n), b, 0, move)
		a.n = int32(keep)
		b.cut(0, move)
	} else {
		b.shift(0, -move)
		b.take(0, a, keep, -move)
		a.n = int32(keep)
	}
	n.bound(i, b.entry(names, 0))
}

func (n *inner) levelInners(i int, a, b *inner) {
	keep := evened(a.n+b.n, innerMax)
	b.bound(0, entry{n.keys[i], n.arrivals[i], n.refs[i]}) // the bound of b's first subtree is known here only
	if move := keep - int(a.n); move > 0 {
		a.take(int(a.n), b, 0, move)
		a.n = int32(keep)
		b.cut(0, move)
	} else {
		b.shift(0, -move)
		b.take(0, a, keep, -move)
		a.cut(keep, -move)
	}
	n.bound(i, b.lowest())
}
