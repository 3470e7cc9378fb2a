package redisstore

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"rankgate/rankcore"
)

// idBuckets is into how many buckets the time that ids are remembered is cut. A whole bucket is forgotten at once,
// so more buckets keep less of what is too old, and fewer cost fewer lookups for each operation.
const idBuckets = 2

// bucketWidth is the span of log time whose ids share a hash, in milliseconds.
func bucketWidth(b *rankcore.Board) int64 {
	return max((b.Dedupe+2*rankcore.IDSlack).Milliseconds()/idBuckets, 1)
}

// packIDs packs the operations' names in the id memory and then what it is to keep of them if they are applied, which
// nearly all of them are: Lua makes no string of its own of those. Nothing when none has an id.
func (t *stepTables) packIDs(b *rankcore.Board, ops []rankcore.PlacedOp) []byte {
	if !t.ids {
		return nil
	}
	packed := make([]byte, 0, (keySize+recordSize)*len(ops))
	seen := make(map[rankcore.OpKey]struct{}, len(ops))
	for i := range ops {
		key := rankcore.OpKey{}
		if ops[i].ID != "" {
			key = ops[i].Key()
			_, again := seen[key]
			seen[key] = struct{}{}
			t.repeated = t.repeated || again
		}
		packed = append(packed, key[:]...)
	}
	width := bucketWidth(b)
	for i := range ops {
		packed = appendRecord(packed, &ops[i], width)
	}
	return packed
}

// keySize is the length of an operation's name in the id memory.
const keySize = len(rankcore.OpKey{})

// appendIDKey appends an operation's name in the id memory, zeros without an id.
func appendIDKey(dst []byte, op *rankcore.Op) []byte {
	if op.ID == "" {
		return append(dst, make([]byte, keySize)...)
	}
	key := op.Key()
	return append(dst, key[:]...)
}

// recordSize is what the id memory keeps of an operation: 48 bits, that fit the smallest piece of memory that Redis has
// for a value. From the highest bit on they are as much of the digest as there is room for, at least 20 bits up to a
// horizon of a day; how far into its bucket the operation was stored; and in 2 bits the outcome.
const recordSize, outcomeBits = 6, 2

// stampBits is how many bits of a record tell when the operation was stored, in a bucket of that width.
func stampBits(width int64) int { return bits.Len64(uint64(width - 1)) }

// digestPart is what records in buckets of that width keep of a digest.
func digestPart(digest uint32, width int64) uint64 {
	return uint64(digest) << 32 >> (64 - (8*recordSize - outcomeBits - stampBits(width)))
}

// appendRecord appends what the id memory keeps of an operation that is applied, zeros without an id.
func appendRecord(dst []byte, op *rankcore.PlacedOp, width int64) []byte {
	if op.ID == "" {
		return append(dst, make([]byte, recordSize)...)
	}
	into := (op.Stored%width + width) % width
	record := (digestPart(op.Digest(), width)<<stampBits(width)|uint64(into))<<outcomeBits | uint64(rankcore.Applied)
	var packed [8]byte
	binary.BigEndian.PutUint64(packed[:], record)
	return append(dst, packed[8-recordSize:]...)
}

// remembered is the outcome that a record tells of op, followed as it is by the width of its bucket.
func remembered(op *rankcore.Op, answer string) rankcore.Outcome {
	if len(answer) <= recordSize {
		return rankcore.OutcomeUnknown
	}
	width, err := strconv.ParseInt(answer[recordSize:], 10, 64)
	if err != nil || width <= 0 {
		return rankcore.OutcomeUnknown
	}
	var packed [8]byte
	copy(packed[8-recordSize:], answer)
	record := binary.BigEndian.Uint64(packed[:])
	if record>>(outcomeBits+stampBits(width)) != digestPart(op.Digest(), width) {
		return rankcore.Conflict
	}
	return rankcore.Outcome(record & (1<<outcomeBits - 1))
}
