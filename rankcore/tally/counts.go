package tally

import "unsafe"

// Counts is how many members stand at each key, for keys within ±rankcore.MaxScore; a smaller key stands first
// (rankcore.Order.Key). It is a B+tree whose branches know the members below each child, and whose leaves keep
// keys and counts in as few bytes as their values need: with millions of keys at random some 4 to 8 bytes for each.
//
// The zero Counts is empty. Not safe for concurrent use; readers may share it while nobody changes it.
type Counts struct {
	root     *branch
	height   int // levels of branches above the one that holds leaves
	total    int64
	distinct int
	work     scratch
}

// Total is how many members there are.
func (c *Counts) Total() int64 { return c.total }

// Distinct is at how many keys they stand.
func (c *Counts) Distinct() int { return c.distinct }

// Bytes is the memory that they take, but for what is spare in branches.
func (c *Counts) Bytes() int64 {
	const perLeaf = int64(unsafe.Sizeof(leaf{})) + int64(unsafe.Sizeof(branch{}))/(fan*3/4)
	return c.work.bytes + c.work.leaves*perLeaf
}

// Add changes the count at key by n. It reports false, and changes nothing, where fewer than none would be left:
// then what was added before was not what is now taken away.
func (c *Counts) Add(key, n int64) bool {
	if n == 0 {
		return true
	}
	if c.root == nil {
		c.root = newBranch()
	}
	had, ok := c.root.add(&c.work, c.height, key, n)
	if !ok {
		return false
	}
	switch {
	case had == 0:
		c.distinct++
	case had+n == 0:
		c.distinct--
	}
	c.total += n
	c.reshape()
	return true
}

// reshape gives the root a parent when it is too wide, and makes its only child the root.
func (c *Counts) reshape() {
	if c.root.width >= fan {
		left, right := c.root, c.root.split(c.height)
		c.root = newBranch()
		c.height++
		c.root.adopt(0, left)
		c.root.adopt(1, right)
	}
	for c.height > 0 && c.root.width == 1 {
		c.root = c.root.kids[0]
		c.height--
	}
}

// Above is how many members have a smaller key.
func (c *Counts) Above(key int64) int64 {
	if c.root == nil {
		return 0
	}
	above, _ := c.root.count(c.height, key)
	return above
}

// Count is how many members have a smaller key, and how many have this one.
func (c *Counts) Count(key int64) (above, at int64) {
	if c.root == nil {
		return 0, 0
	}
	return c.root.count(c.height, key)
}

// Nth is the key of the n-th member, from 1, where there are that many.
func (c *Counts) Nth(n int64) (key int64, ok bool) {
	if n < 1 || n > c.total {
		return 0, false
	}
	return c.root.nth(c.height, n), true
}

// All gives each key from the smallest on, with its count.
func (c *Counts) All(yield func(key, n int64) bool) {
	if c.root != nil {
		c.root.all(c.height, yield)
	}
}
