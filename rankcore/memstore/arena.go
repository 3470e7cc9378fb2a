package memstore

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"rankgate/rankcore"
)

// A record of the arena is the member's score (8 bytes), its arrival where ties go by it (8 bytes), the length of its
// name less one (1 byte) and the name, padded to recordAlign. A reference counts in units of recordAlign over all chunks.
const (
	recordAlign  = 4
	scoreBytes   = 8
	arrivalBytes = 8
	chunkUnits   = 1 << 16
	chunkBytes   = chunkUnits * recordAlign
	maxChunks    = 1 << 32 / chunkUnits // 16 GiB
)

// arena holds members' names, scores and arrivals in chunks that are only appended to. A name, once written, never
// changes, so a frozen copy can be asked for names while members are written; so it can for arrivals, since a chunk
// that it shares is copied before one in it changes. Scores belong to the board's lock.
type arena struct {
	chunks [][]byte
	head   int    // bytes of a record before its name
	own    []bool // of each chunk, where there are arrivals: no frozen copy shares it
}

func newArena(t rankcore.Ties) *arena {
	if t == rankcore.TiesFirst {
		return &arena{head: scoreBytes + arrivalBytes + 1}
	}
	return &arena{head: scoreBytes + 1}
}

// hasArrivals reports whether the arena holds arrivals. Without, they all are 0.
func (a *arena) hasArrivals() bool { return a.head > scoreBytes+1 }

// recordBytes is the size of the record of a user.
func (a *arena) recordBytes(user rankcore.UserID) int {
	return (a.head + len(user) + recordAlign - 1) / recordAlign * recordAlign
}

// add writes a record and returns its reference, which is never 0.
func (a *arena) add(user rankcore.UserID, at reached) uint32 {
	size := a.recordBytes(user)
	switch last := len(a.chunks) - 1; {
	case last < 0: // the first chunk grows as it needs to: most seasons of small boards never fill one
		a.grow(make([]byte, recordAlign, recordAlign+size))
	case len(a.chunks[last])+size > chunkBytes:
		a.grow(make([]byte, 0, chunkBytes))
	}
	last := len(a.chunks) - 1
	chunk := a.chunks[last]
	begin := len(chunk)
	chunk = binary.LittleEndian.AppendUint64(chunk, uint64(at.score))
	if a.hasArrivals() {
		chunk = binary.LittleEndian.AppendUint64(chunk, uint64(at.arrival))
	}
	chunk = append(append(chunk, byte(len(user)-1)), user...)
	for len(chunk) < begin+size {
		chunk = append(chunk, 0)
	}
	a.chunks[last] = chunk
	return uint32(last*chunkUnits + begin/recordAlign)
}

func (a *arena) grow(chunk []byte) {
	a.chunks = append(a.chunks, chunk)
	if a.hasArrivals() {
		a.own = append(a.own, true)
	}
}

// hasRoom reports whether n more records surely fit.
func (a *arena) hasRoom(n int) bool {
	const largest = scoreBytes + arrivalBytes + 1 + rankcore.MaxUserBytes + recordAlign
	return len(a.chunks)+n*largest/chunkBytes+2 <= maxChunks
}

// name is the name in a record. It is a view of the arena: clone what is kept.
func (a *arena) name(ref uint32) rankcore.UserID {
	record := a.record(ref)
	name := record[a.head : a.head+int(record[a.head-1])+1]
	return rankcore.UserID(unsafe.String(&name[0], len(name))) // right because names never change
}

func (a *arena) score(ref uint32) rankcore.Score {
	return rankcore.Score(binary.LittleEndian.Uint64(a.record(ref)))
}

func (a *arena) setScore(ref uint32, s rankcore.Score) {
	binary.LittleEndian.PutUint64(a.record(ref), uint64(s))
}

// arrival is the arrival in a record.
func (a *arena) arrival(ref uint32) rankcore.Arrival {
	if !a.hasArrivals() {
		return 0
	}
	return rankcore.Arrival(binary.LittleEndian.Uint64(a.record(ref)[scoreBytes:]))
}

// set changes what a member has reached.
func (a *arena) set(ref uint32, at reached) {
	a.setScore(ref, at.score)
	if !a.hasArrivals() {
		return
	}
	if i := ref / chunkUnits; !a.own[i] {
		a.chunks[i] = append(make([]byte, 0, cap(a.chunks[i])), a.chunks[i]...)
		a.own[i] = true
	}
	binary.LittleEndian.PutUint64(a.record(ref)[scoreBytes:], uint64(at.arrival))
}

func (a *arena) record(ref uint32) []byte {
	return a.chunks[ref/chunkUnits][ref%chunkUnits*recordAlign:]
}

// freeze is a copy whose names and arrivals can be read while this arena is written.
func (a *arena) freeze() arena {
	clear(a.own)
	return arena{chunks: slices.Clone(a.chunks), head: a.head}
}
