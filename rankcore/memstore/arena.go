package memstore

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"rankgate/rankcore"
)

// A record of the arena is the member's score (8 bytes), the length of its name less one (1 byte) and the
// name, padded to recordAlign. A reference counts in units of recordAlign over all chunks.
const (
	recordAlign = 4
	recordHead  = 9
	chunkUnits  = 1 << 16
	chunkBytes  = chunkUnits * recordAlign
	maxChunks   = 1 << 32 / chunkUnits // 16 GiB
)

// arena holds members' names and scores in chunks that are only appended to. A name, once written, never
// moves or changes, so a frozen copy can be asked for names while members are written. Scores do change
// and belong to the shard's lock.
type arena struct {
	chunks [][]byte
}

func recordBytes(nameBytes int) int {
	return (recordHead + nameBytes + recordAlign - 1) / recordAlign * recordAlign
}

// add writes a record and returns its reference, which is never 0.
func (a *arena) add(user rankcore.UserID, score rankcore.Score) uint32 {
	size := recordBytes(len(user))
	switch last := len(a.chunks) - 1; {
	case last < 0: // the first chunk grows as it needs to: most seasons of small boards never fill one
		a.chunks = append(a.chunks, make([]byte, recordAlign, recordAlign+size))
	case len(a.chunks[last])+size > chunkBytes:
		a.chunks = append(a.chunks, make([]byte, 0, chunkBytes))
	}
	last := len(a.chunks) - 1
	chunk := a.chunks[last]
	at := len(chunk)
	chunk = binary.LittleEndian.AppendUint64(chunk, uint64(score))
	chunk = append(append(chunk, byte(len(user)-1)), user...)
	for len(chunk) < at+size {
		chunk = append(chunk, 0)
	}
	a.chunks[last] = chunk
	return uint32(last*chunkUnits + at/recordAlign)
}

// hasRoom reports whether n more records surely fit.
func (a *arena) hasRoom(n int) bool {
	return len(a.chunks)+n*recordBytes(rankcore.MaxUserBytes)/chunkBytes+2 <= maxChunks
}

// name is the name in a record. It is a view of the arena: clone what is kept.
func (a *arena) name(ref uint32) rankcore.UserID {
	record := a.record(ref)
	name := record[recordHead : recordHead+int(record[recordHead-1])+1]
	return rankcore.UserID(unsafe.String(&name[0], len(name))) // right because names never change
}

func (a *arena) score(ref uint32) rankcore.Score {
	return rankcore.Score(binary.LittleEndian.Uint64(a.record(ref)))
}

func (a *arena) setScore(ref uint32, s rankcore.Score) {
	binary.LittleEndian.PutUint64(a.record(ref), uint64(s))
}

func (a *arena) record(ref uint32) []byte {
	return a.chunks[ref/chunkUnits][ref%chunkUnits*recordAlign:]
}

// freeze is a copy whose names can be read while this arena is written.
func (a *arena) freeze() arena { return arena{slices.Clone(a.chunks)} }
