package tally

import "slices"

// A branch has fewer than fan children, in groups. With two steps of at most a group's width each, a lookup finds
// one of many children, and adds up what stands before it, from few lines of memory.
const (
	group = 16
	fan   = group * group
)

// branch is a node above others or, at height 0, above leaves. Leaves are held in place, which saves a way.
type branch struct {
	width int

	// Of groups: the first key and the members. Behind the last one keys are beyond.
	lead, blocks [group]int64
	// Of children: the smallest key that may stand there, whatever the first one says, and the members.
	first, sums [fan]int64

	kids   []*branch
	leaves []leaf
}

// beyond is above every key, by no more than a difference of two keys may be.
const beyond = 1 << 60

func newBranch() *branch {
	b := &branch{}
	b.regroup(0)
	return b
}

// regroup sums up children anew from the i-th one's group on.
func (b *branch) regroup(i int) {
	for j := b.width; j < fan && b.first[j] != beyond; j++ {
		b.first[j], b.sums[j] = beyond, 0
	}
	for g := i / group; g < group; g++ {
		b.lead[g], b.blocks[g] = b.first[g*group], 0
		for _, n := range b.sums[g*group:][:group] {
			b.blocks[g] += n
		}
	}
}

func (b *branch) members() (n int64) {
	for _, s := range b.blocks {
		n += s
	}
	return n
}

func (b *branch) change(i int, n int64) {
	b.sums[i] += n
	b.blocks[i/group] += n
}

// child is where key stands if it does, and how many members stand in the children before. It looks at all groups,
// and at all of one: a search by halves would wait for memory and guess its way at each step, and this does neither.
func (b *branch) child(key int64) (i int, before int64) {
	g, before := reach(&b.lead, &b.blocks, key)
	i, n := reach((*[group]int64)(b.first[g*group:]), (*[group]int64)(b.sums[g*group:]), key)
	return g*group + i, before + n
}

// reach is the last of the parts that begin at or before key, at least the first, and what the parts before it hold.
func reach(first, sums *[group]int64, key int64) (i int, before int64) {
	for j := range group - 1 {
		reached := (first[j+1] - key - 1) >> 63 // all ones when the part begins at or before key, else zero
		before += sums[j] & reached
		i -= int(reached)
	}
	return i, before
}

// count is how many members below b have a smaller key, and how many have this one.
func (b *branch) count(height int, key int64) (above, at int64) {
	if b.width == 0 {
		return 0, 0
	}
	for ; ; height-- {
		i, before := b.child(key)
		above += before
		if height == 0 {
			n, at := b.leaves[i].count(key)
			return above + n, at
		}
		b = b.kids[i]
	}
}

// nth is the key of the n-th member below b, of whom there are that many.
func (b *branch) nth(height int, n int64) int64 {
	for ; ; height-- {
		g := 0
		for n > b.blocks[g] {
			n -= b.blocks[g]
			g++
		}
		i := g * group
		for n > b.sums[i] {
			n -= b.sums[i]
			i++
		}
		if height == 0 {
			return b.leaves[i].nth(n)
		}
		b = b.kids[i]
	}
}

// add changes the count at key by n and tells what it was; not ok, and nothing is changed, where fewer than none
// would be left. A child that has become too wide is split, one that has become narrow joins a neighbour where both
// fit into one; b itself is for the caller to look after.
func (b *branch) add(w *scratch, height int, key, n int64) (had int64, ok bool) {
	if b.width == 0 {
		if n < 0 {
			return 0, false
		}
		b.leaves = append(b.leaves, leaf{})
		w.leaves++
		b.insert(0, key, 0)
	}
	i, _ := b.child(key)
	if height == 0 {
		had, ok = b.leaves[i].add(w, key, n)
	} else {
		had, ok = b.kids[i].add(w, height-1, key, n)
	}
	if !ok {
		return had, false
	}
	b.change(i, n)
	switch size := b.size(height, i); {
	case size > widest(height):
		b.splitChild(w, height, i)
	case size == 0:
		if height == 0 {
			b.leaves[i].free(w)
			w.leaves--
		}
		b.drop(height, i)
	case size < widest(height)/4:
		if !b.join(w, height, i) {
			b.join(w, height, i-1)
		}
	}
	return had, true
}

// size is how wide child i is.
func (b *branch) size(height, i int) int {
	if height == 0 {
		return int(b.leaves[i].n)
	}
	return b.kids[i].width
}

// widest is how wide a child of a branch at this height may be.
func widest(height int) int {
	if height == 0 {
		return leafKeys
	}
	return fan - 1
}

func (b *branch) splitChild(w *scratch, height, i int) {
	if height > 0 {
		b.adopt(i+1, b.kids[i].split(height-1))
		b.change(i, -b.sums[i+1])
		return
	}
	right, first, members := b.leaves[i].split(w)
	b.leaves = slices.Insert(b.leaves, i+1, right)
	w.leaves++
	b.insert(i+1, first, members)
	b.change(i, -members)
}

// split cuts b's right half off.
func (b *branch) split(height int) *branch {
	half := b.width / 2
	right := newBranch()
	right.width = b.width - half
	copy(right.first[:], b.first[half:b.width])
	copy(right.sums[:], b.sums[half:b.width])
	if height == 0 {
		right.leaves = slices.Clone(b.leaves[half:])
		b.leaves = slices.Delete(b.leaves, half, b.width)
	} else {
		right.kids = slices.Clone(b.kids[half:])
		b.kids = slices.Delete(b.kids, half, b.width)
	}
	b.width = half
	b.regroup(half)
	right.regroup(0)
	return right
}

// adopt makes kid child i.
func (b *branch) adopt(i int, kid *branch) {
	b.kids = slices.Insert(b.kids, i, kid)
	b.insert(i, kid.first[0], kid.members())
}

// insert makes place for child i, which is in kids or leaves already.
func (b *branch) insert(i int, first, members int64) {
	copy(b.first[i+1:], b.first[i:b.width])
	copy(b.sums[i+1:], b.sums[i:b.width])
	b.first[i], b.sums[i] = first, members
	b.width++
	b.regroup(i)
}

func (b *branch) drop(height, i int) {
	copy(b.first[i:], b.first[i+1:b.width])
	copy(b.sums[i:], b.sums[i+1:b.width])
	if height == 0 {
		b.leaves = slices.Delete(b.leaves, i, i+1)
	} else {
		b.kids = slices.Delete(b.kids, i, i+1)
	}
	b.width--
	b.regroup(i)
}

// join makes one of children i and i+1 where there are both, and they leave room in it.
func (b *branch) join(w *scratch, height, i int) bool {
	if i < 0 || i+1 >= b.width || b.size(height, i)+b.size(height, i+1) > widest(height)*3/4 {
		return false
	}
	if height == 0 {
		b.leaves[i].append(w, &b.leaves[i+1])
		w.leaves--
	} else {
		kid, next := b.kids[i], b.kids[i+1]
		copy(kid.first[kid.width:], next.first[:next.width])
		copy(kid.sums[kid.width:], next.sums[:next.width])
		kid.first[kid.width] = b.first[i+1] // what the parent says holds, not what the first child says
		kid.width += next.width
		kid.regroup(kid.width - next.width)
		kid.kids = append(kid.kids, next.kids...)
		kid.leaves = append(kid.leaves, next.leaves...)
	}
	b.change(i, b.sums[i+1])
	b.drop(height, i+1)
	return true
}

func (b *branch) all(height int, yield func(key, n int64) bool) bool {
	for i := range b.width {
		if height > 0 && !b.kids[i].all(height-1, yield) || height == 0 && !b.leaves[i].all(yield) {
			return false
		}
	}
	return true
}
