package memstore

// How full a tree is built: some room is left, since what was read from a checkpoint will change.
const (
	leafFill  = leafMax * 7 / 8
	innerFill = innerMax * 7 / 8
)

// builder makes a tree of entries that come in order, without searching.
type builder struct {
	size   int
	leaves []*leaf
}

// add appends an entry, which must stand behind all that came before.
func (b *builder) add(key int64, ref uint32) {
	last := len(b.leaves) - 1
	if last < 0 || b.leaves[last].n == leafFill {
		b.leaves = append(b.leaves, &leaf{})
		last++
	}
	l := b.leaves[last]
	l.keys[l.n], l.refs[l.n] = key, ref
	l.n++
	b.size++
}

// tree is the tree of what was added. The builder is used up.
func (b *builder) tree(names *arena) tree {
	t := tree{size: b.size, names: names}
	level := make([]node, len(b.leaves))
	bounds := make([]entry, len(b.leaves))
	for i, l := range b.leaves {
		level[i], bounds[i] = node{leaf: l}, l.entry(names, 0)
	}
	for len(level) > 1 {
		level, bounds = stack(level, bounds)
	}
	if len(level) == 1 {
		t.root = level[0]
	}
	return t
}

// stack makes one level of inner nodes over a level of nodes, filling them evenly so that none is left
// with a single subtree.
func stack(level []node, bounds []entry) ([]node, []entry) {
	groups := (len(level) + innerFill - 1) / innerFill
	above, firsts := make([]node, groups), make([]entry, groups)
	for g := range groups {
		n := &inner{}
		for i := g * len(level) / groups; i < (g+1)*len(level)/groups; i++ {
			n.put(int(n.n), level[i], bounds[i])
		}
		above[g], firsts[g] = node{inner: n}, n.lowest()
	}
	return above, firsts
}
