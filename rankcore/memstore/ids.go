package memstore

import (
	"hash/maphash"
	"slices"

	"rankgate/rankcore"
)

const recordChunk = 1024 // records of the id memory in one chunk: 24 KiB

// record is what the id memory keeps of an operation.
type record struct {
	key     rankcore.OpKey
	after   uint32 // milliseconds since its bucket's start
	digest  uint32
	outcome rankcore.Outcome
}

// bucket remembers the operations stored within one span of log time, so that they are forgotten at once.
// Records are only appended; one that was overwritten is named in dead.
type bucket struct {
	start  int64 // Unix milliseconds
	chunks [][]record
	size   int
	dead   []uint32
	index  table // of record numbers, counted from 1
}

// memory is a shard's id memory (rules R3 and R4 of rankcore/ingest/PROTOCOL.md). A key has at most one record over all buckets.
// It belongs to the board's lock.
type memory struct {
	seed    maphash.Seed
	width   int64     // of a bucket, in milliseconds
	buckets []*bucket // by start
}

// newMemory spreads what has to be remembered at a time over about four buckets: a lookup asks each of
// them, and a quarter of the horizon is remembered in excess.
func newMemory(b *rankcore.Board, seed maphash.Seed) *memory {
	span := (b.Dedupe + 2*rankcore.IDSlack).Milliseconds()
	return &memory{seed: seed, width: min(max(span/4, 1), 1<<31)}
}

func (m *memory) hash(key *rankcore.OpKey) uint32 { return uint32(maphash.Bytes(m.seed, key[:])) }

// find is where a key is remembered: its bucket and the slot there.
func (m *memory) find(hash uint32, key *rankcore.OpKey) (*bucket, int) {
	for i := len(m.buckets) - 1; i >= 0; i-- {
		b := m.buckets[i]
		if at := b.index.find(hash, func(ref uint32) bool { return b.record(ref).key == *key }); at >= 0 {
			return b, at
		}
	}
	return nil, -1
}

// recall is what is remembered of a key: when it was stored, its digest and its outcome.
func (m *memory) recall(key *rankcore.OpKey) (stored int64, r *record) {
	b, at := m.find(m.hash(key), key)
	if b == nil {
		return 0, nil
	}
	r = b.record(b.index.slots[at].ref)
	return b.start + int64(r.after), r
}

// remember overwrites what is remembered of a key.
func (m *memory) remember(key *rankcore.OpKey, stored int64, digest uint32, outcome rankcore.Outcome) {
	hash := m.hash(key)
	if b, at := m.find(hash, key); b != nil {
		b.dead = append(b.dead, b.index.slots[at].ref)
		b.index.remove(at)
	}
	m.put(hash, key, stored, digest, outcome)
}

// put remembers a key that is not there yet.
func (m *memory) put(hash uint32, key *rankcore.OpKey, stored int64, digest uint32, outcome rankcore.Outcome) {
	b := m.bucketAt(stored)
	ref := b.add(record{key: *key, after: uint32(stored - b.start), digest: digest, outcome: outcome})
	b.index.insert(hash, ref)
}

// bucketAt is the bucket for operations stored at ms, made if need be.
func (m *memory) bucketAt(ms int64) *bucket {
	start := ms - ((ms%m.width)+m.width)%m.width
	i, ok := slices.BinarySearchFunc(m.buckets, start, func(b *bucket, start int64) int { return int(min(max(b.start-start, -1), 1)) })
	if !ok {
		m.buckets = slices.Insert(m.buckets, i, &bucket{start: start})
	}
	return m.buckets[i]
}

// forget drops the buckets that ended before ms.
func (m *memory) forget(ms int64) {
	m.buckets = slices.DeleteFunc(m.buckets, func(b *bucket) bool { return b.start+m.width <= ms })
}

func (b *bucket) record(ref uint32) *record {
	return &b.chunks[(ref-1)/recordChunk][(ref-1)%recordChunk]
}

func (b *bucket) add(r record) uint32 {
	last := len(b.chunks) - 1
	switch {
	case last < 0: // the first chunk grows as it needs to
		b.chunks = append(b.chunks, nil)
		last = 0
	case len(b.chunks[last]) == recordChunk:
		b.chunks = append(b.chunks, make([]record, 0, recordChunk))
		last++
	}
	b.chunks[last] = append(b.chunks[last], r)
	b.size++
	return uint32(b.size)
}

// freeze is a copy whose records can be read while this bucket is written.
func (b *bucket) freeze() bucket {
	return bucket{start: b.start, chunks: slices.Clone(b.chunks), size: b.size, dead: b.dead}
}

// scan yields the records that count, in the order they were written.
func (b *bucket) scan(yield func(stored int64, r *record)) {
	dead := make(map[uint32]bool, len(b.dead))
	for _, ref := range b.dead {
		dead[ref] = true
	}
	for ref := uint32(1); int(ref) <= b.size; ref++ {
		if len(dead) > 0 && dead[ref] {
			continue
		}
		r := b.record(ref)
		yield(b.start+int64(r.after), r)
	}
}
