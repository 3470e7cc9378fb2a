package memstore

// slot leads from a hash to a reference. Reference 0 marks an empty slot.
type slot struct{ hash, ref uint32 }

// table is an open-addressing hash table of references; what they refer to is the caller's. It keeps the
// hashes, so growing reads the slots in sequence and nothing else, and removing needs no tombstones. The
// caller's hashes must be seeded, so that nobody can choose names that collide.
// Not safe for concurrent use.
type table struct {
	slots []slot // a power of two; at most 7/8 are used
	used  int
}

// tableFor is a table with room for n references.
func tableFor(n int) table {
	size := 8
	for size*7/8 <= n {
		size *= 2
	}
	return table{slots: make([]slot, size)}
}

// find is the slot whose reference has this hash and satisfies same; -1 when there is none.
func (t *table) find(hash uint32, same func(ref uint32) bool) int {
	if t.used == 0 {
		return -1
	}
	mask := len(t.slots) - 1
	for i := int(hash) & mask; t.slots[i].ref != 0; i = (i + 1) & mask {
		if t.slots[i].hash == hash && same(t.slots[i].ref) {
			return i
		}
	}
	return -1
}

// first is the first reference with this hash, most likely the one that is looked for; 0 when there is none.
func (t *table) first(hash uint32) uint32 {
	if i := t.find(hash, func(uint32) bool { return true }); i >= 0 {
		return t.slots[i].ref
	}
	return 0
}

// insert adds a reference that is not there yet.
func (t *table) insert(hash, ref uint32) {
	if (t.used+1)*8 > len(t.slots)*7 {
		t.grow()
	}
	t.place(slot{hash, ref})
	t.used++
}

func (t *table) place(s slot) {
	mask := len(t.slots) - 1
	i := int(s.hash) & mask
	for t.slots[i].ref != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(8, 2*len(old)))
	for _, s := range old {
		if s.ref != 0 {
			t.place(s)
		}
	}
}

// remove empties slot i and moves back those behind it that had to step over it.
func (t *table) remove(i int) {
	mask := len(t.slots) - 1
	for j := (i + 1) & mask; t.slots[j].ref != 0; j = (j + 1) & mask {
		home := int(t.slots[j].hash) & mask
		if (j-home)&mask >= (j-i)&mask { // its home is not between i and j: it may stand at i
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
	t.used--
}
