package memstore

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"rankgate/rankcore"
)

// A record of the arena is the member's score (8 bytes), the length of its name less one (1 byte), and
// the name, padded to recordAlign. A reference counts in recordAlign bytes over all chunks.
const (
	recordAlign = 4
	chunkUnits  = 1 << 16
	chunkBytes  = chunkUnits * recordAlign
	recordHead  = 9
	maxRecord   = (recordHead + rankcore.MaxUserBytes + recordAlign - 1) / recordAlign * recordAlign
	maxChunks   = 1 << 32 / chunkUnits
)

// arena holds members' names and scores in chunks that are only appended to. A name, once written, stays
// where it is and never changes, so a copy of an arena taken under the shard's lock can be asked for names
// afterwards, while later members are written. Scores do change and belong to the lock.
type arena struct {
	chunks [][]byte
}

// add writes a record and returns its reference, which is never 0.
func (a *arena) add(user rankcore.UserID, score rankcore.Score) uint32 {
	size := recordBytes(len(user))
	last := len(a.chunks) - 1
	switch {
	case last < 0: // the first chunk grows as it needs to, since most seasons of small boards never fill it
		a.chunks = append(a.chunks, make([]byte, recordAlign, recordAlign+size))
		last = 0
	case len(a.chunks[last])+size > chunkBytes:
		// A full slice, so that the copies of the arena that are out do not share the list's next place.
		a.chunks = append(a.chunks[:last+1:last+1], make([]byte, 0, chunkBytes))
		last++
	}
	chunk := a.chunks[last]
	at := len(chunk)
	chunk = binary.LittleEndian.AppendUint64(chunk, uint64(score))
	chunk = append(append(chunk, byte(len(user)-1)), user...)
	for len(chunk)%recordAlign != 0 {
		chunk = append(chunk, 0)
	}
	if last == 0 && len(a.chunks) > 0 {
		a.setChunk(last, chunk)
	} else {
		a.setChunk(last, chunk)
	}
	return uint32(last*chunkUnits + at/recordAlign)
}
