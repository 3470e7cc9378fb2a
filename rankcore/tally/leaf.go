package tally

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// leafKeys bounds the keys of a leaf. Fewer cost more of the branches above, more cost a lookup more adding up.
const leafKeys = 128

// leaf is a run of keys with their counts. Keys are kept as their distance from base, and both in the bytes that
// the largest of them needs: first all keys, then, behind the room for them, all counts. What does not fit any
// more, in number or in value, makes the leaf anew.
type leaf struct {
	base       int64 // not above the first key
	data       []byte
	n, room    uint16
	keyWidth   uint8 // bytes, 1 to 8
	countWidth uint8
}

// slack is behind the last count, so that any value can be read as eight bytes.
const slack = 7

// scratch is a leaf spelled out, while it is made anew.
type scratch struct {
	keys, counts []int64
	leaves       int64 // how many there are
	bytes        int64 // of their data
}

func mask(width uint8) uint64 { return ^uint64(0) >> (64 - 8*uint(width)) }

func widthOf(v uint64) uint8 { return uint8(max(bits.Len64(v)+7, 8) / 8) }

func (l *leaf) key(i int) int64 {
	return l.base + int64(binary.LittleEndian.Uint64(l.data[i*int(l.keyWidth):])&mask(l.keyWidth))
}

// counts are the bytes of the counts, and of the slack.
func (l *leaf) counts() []byte { return l.data[int(l.room)*int(l.keyWidth):] }

func (l *leaf) value(i int) int64 {
	return int64(binary.LittleEndian.Uint64(l.counts()[i*int(l.countWidth):]) & mask(l.countWidth))
}

func (l *leaf) setValue(i int, n int64) { put(l.counts()[i*int(l.countWidth):], l.countWidth, n) }

// put writes the low bytes of v and keeps what is behind them.
func put(dst []byte, width uint8, v int64) {
	there := binary.LittleEndian.Uint64(dst)
	m := mask(width)
	binary.LittleEndian.PutUint64(dst, there&^m|uint64(v)&m)
}

// stride is how many keys stand between those that a search looks at first.
const stride = 16

// find is where key stands or would stand. Like branch.child it looks at keys that do not depend on each other, first
// at every few and then at those between, so that memory is waited for twice at most.
func (l *leaf) find(key int64) (i int, found bool) {
	if l.n == 0 || key < l.base {
		return 0, false
	}
	distance, width, m, data, n := key-l.base, int(l.keyWidth), mask(l.keyWidth), l.data, int(l.n)
	smaller := func(at int) int { // 1 when the key there is smaller
		return -int((int64(binary.LittleEndian.Uint64(data[at:])&m) - distance) >> 63)
	}
	for at := stride; at < n; at += stride {
		i += smaller(at * width)
	}
	i *= stride
	for at, end := i*width, min(i+stride, n)*width; at < end; at += width {
		i += smaller(at)
	}
	return i, i < n && l.key(i) == key
}

// before adds up the first i counts.
func (l *leaf) before(i int) (sum int64) {
	counts, width, m := l.counts(), int(l.countWidth), mask(l.countWidth)
	if width == 1 { // by far the most leaves of a board whose members are many and whose ties are short
		for _, n := range counts[:i] {
			sum += int64(n)
		}
		return sum
	}
	for end := i * width; end > 0; {
		end -= width
		sum += int64(binary.LittleEndian.Uint64(counts[end:]) & m)
	}
	return sum
}

// count is how many members of the leaf have a smaller key, and how many have this one.
func (l *leaf) count(key int64) (above, at int64) {
	i, found := l.find(key)
	if i > 0 {
		above = l.before(i)
	}
	if found {
		at = l.value(i)
	}
	return above, at
}

// nth is the key of the leaf's n-th member.
func (l *leaf) nth(n int64) int64 {
	i := 0
	for n > l.value(i) {
		n -= l.value(i)
		i++
	}
	return l.key(i)
}

func (l *leaf) all(yield func(key, n int64) bool) bool {
	for i := range int(l.n) {
		if !yield(l.key(i), l.value(i)) {
			return false
		}
	}
	return true
}

// add changes the count at key by n; a key without members goes.
func (l *leaf) add(w *scratch, key, n int64) (had int64, ok bool) {
	i, found := l.find(key)
	if found {
		had = l.value(i)
	}
	left := had + n
	switch {
	case left < 0:
		return had, false
	case left == 0:
		l.remove(i)
	case found && widthOf(uint64(left)) <= l.countWidth:
		l.setValue(i, left)
	case found:
		l.read(w)
		w.counts[i] = left
		l.make(w, w.keys, w.counts)
	case l.fits(key, left):
		l.insert(i, key, left)
	default:
		l.read(w)
		w.keys, w.counts = slices.Insert(w.keys, i, key), slices.Insert(w.counts, i, left)
		l.make(w, w.keys, w.counts)
	}
	return had, true
}

// fits reports whether there is room for another key and its count.
func (l *leaf) fits(key, n int64) bool {
	return l.n < l.room && key >= l.base && widthOf(uint64(key-l.base)) <= l.keyWidth && widthOf(uint64(n)) <= l.countWidth
}

func (l *leaf) insert(i int, key, n int64) {
	counts, size := l.counts(), int(l.n)
	at, end, width := i*int(l.keyWidth), size*int(l.keyWidth), int(l.keyWidth)
	copy(l.data[at+width:end+width], l.data[at:end])
	put(l.data[at:], l.keyWidth, key-l.base)
	at, end, width = i*int(l.countWidth), size*int(l.countWidth), int(l.countWidth)
	copy(counts[at+width:end+width], counts[at:end])
	put(counts[at:], l.countWidth, n)
	l.n++
}

func (l *leaf) remove(i int) {
	counts, size := l.counts(), int(l.n)
	copy(l.data[i*int(l.keyWidth):], l.data[(i+1)*int(l.keyWidth):size*int(l.keyWidth)])
	copy(counts[i*int(l.countWidth):], counts[(i+1)*int(l.countWidth):size*int(l.countWidth)])
	l.n--
}

// read spells the leaf out.
func (l *leaf) read(w *scratch) {
	w.keys, w.counts = w.keys[:0], w.counts[:0]
	l.readMore(w)
}

func (l *leaf) readMore(w *scratch) {
	for i := range int(l.n) {
		w.keys, w.counts = append(w.keys, l.key(i)), append(w.counts, l.value(i))
	}
}

// make fills the leaf with keys and counts, with room for a few more.
func (l *leaf) make(w *scratch, keys, counts []int64) {
	l.free(w)
	largest := int64(0)
	for _, n := range counts {
		largest = max(largest, n)
	}
	l.base, l.n = keys[0], uint16(len(keys))
	l.keyWidth, l.countWidth = widthOf(uint64(keys[len(keys)-1]-l.base)), widthOf(uint64(largest))
	pair := int(l.keyWidth) + int(l.countWidth)
	data := slices.Grow([]byte(nil), (len(keys)+1+len(keys)/8)*pair+slack) // grown: what the allocator rounds up to is used
	l.data = data[:cap(data)]
	w.bytes += int64(cap(l.data))
	l.room = uint16((len(l.data) - slack) / pair)
	for i, key := range keys {
		put(l.data[i*int(l.keyWidth):], l.keyWidth, key-l.base)
	}
	for i, n := range counts {
		l.setValue(i, n)
	}
}

// free tells that the leaf's memory is not used any more.
func (l *leaf) free(w *scratch) { w.bytes -= int64(cap(l.data)) }

// split cuts the right half off, and tells its first key and its members.
func (l *leaf) split(w *scratch) (right leaf, first, members int64) {
	l.read(w)
	half := len(w.keys) / 2
	right.make(w, w.keys[half:], w.counts[half:])
	for _, n := range w.counts[half:] {
		members += n
	}
	l.make(w, w.keys[:half], w.counts[:half])
	return right, right.base, members
}

// append takes in what stands in the leaf behind this one.
func (l *leaf) append(w *scratch, next *leaf) {
	l.read(w)
	next.readMore(w)
	next.free(w)
	l.make(w, w.keys, w.counts)
}
