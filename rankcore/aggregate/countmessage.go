package aggregate

import (
	"encoding/binary"
	"fmt"
	"math"

	"rankgate/rankcore"
)

// countSubject is asked how many members of a board stand where.
func countSubject(shards string, id rankcore.BoardID) string {
	return "rankgate.count." + shards + "." + string(id)
}

// What a question about counts asks for.
const (
	askAbove    = 1
	askHead     = 2
	askSegments = 3
	askStretch  = 4
	askPlaces   = 5
)

// More answers to a question about counts than refused, which is that the core's index is not ready, and answered.
const (
	moved   = 2 // the user's shard has changed since it was read
	unknown = 3 // this cannot be told now; another question may
)

const (
	maxSeasonName = 64
	maxNumber     = binary.MaxVarintLen64
	maxQuestion   = 160                                // bytes: a season's name and seven numbers
	maxKeys       = rankcore.MaxUsers * maxNumber      // bytes: and those of a batch of users
	maxShardsSeen = 3 * rankcore.MaxShards * maxNumber // bytes: and of all shards when they were seen
)

// question is about one season. What its kind does not ask for is zero.
type question struct {
	kind    byte
	season  rankcore.SeasonID
	n       int64 // the key of a user, or how many members
	shard   int   // the user's
	changed rankcore.Position

	end, back, forth int64   // of a stretch
	keys             []int64 // of places
	seen             []rankcore.Seen
}

func encodeQuestion(q question) []byte {
	to := append(make([]byte, 0, maxQuestion), version, q.kind)
	to = binary.AppendUvarint(to, uint64(len(q.season)))
	to = append(to, q.season...)
	to = binary.AppendVarint(to, q.n)
	to = binary.AppendUvarint(to, uint64(q.shard))
	to = appendPosition(to, q.changed)
	if q.kind == askStretch {
		to = binary.AppendVarint(to, q.end)
		to = binary.AppendUvarint(to, uint64(q.back))
		to = binary.AppendUvarint(to, uint64(q.forth))
		to = appendSeen(to, q.seen)
	}
	if q.kind == askPlaces {
		to = binary.AppendUvarint(to, uint64(len(q.keys)))
		for _, key := range q.keys {
			to = binary.AppendVarint(to, key)
		}
		to = appendSeen(to, q.seen)
	}
	return to
}

func decodeQuestion(data []byte) (q question, err error) {
	if len(data) < 2 || len(data) > maxQuestion+maxKeys+maxShardsSeen || data[0] != version {
		return q, fmt.Errorf("%d bytes that are no question of version %d", len(data), version)
	}
	q.kind = data[1]
	r := reader{rest: data[2:]}
	q.season = rankcore.SeasonID(r.bytes(string(r.rest)))
	q.n = r.varint()
	shard := r.uvarint()
	q.changed = r.position()
	if q.kind == askStretch {
		q.end, q.back, q.forth = r.varint(), r.count(), r.count()
		for _, key := range [...]int64{q.n, q.end} {
			r.garbled = r.garbled || !rankcore.Score(key).InRange()
		}
		for _, n := range [...]int64{q.back, q.forth} {
			r.garbled = r.garbled || n > rankcore.MaxRows+1
		}
		q.seen = r.seen()
	}
	if q.kind == askPlaces {
		n := r.uvarint()
		r.garbled = r.garbled || n > rankcore.MaxUsers
		for i := uint64(0); i < n && !r.garbled; i++ {
			q.keys = append(q.keys, r.varint())
		}
		q.seen = r.seen()
	}
	if r.garbled || len(r.rest) > 0 || q.kind < askAbove || q.kind > askPlaces || len(q.season) > maxSeasonName || shard >= rankcore.MaxShards {
		return q, fmt.Errorf("a garbled question of kind %d", q.kind)
	}
	q.shard = int(shard)
	return q, nil
}

func appendPosition(to []byte, p rankcore.Position) []byte {
	return binary.AppendVarint(binary.AppendUvarint(to, p.Seq), p.Time)
}

func (r *reader) position() rankcore.Position {
	seq := r.uvarint()
	return rankcore.Position{Seq: seq, Time: r.varint()}
}

func appendSeen(to []byte, seen []rankcore.Seen) []byte {
	to = binary.AppendUvarint(to, uint64(len(seen)))
	for _, s := range seen {
		to = appendPosition(binary.AppendUvarint(to, uint64(s.Shard)), s.Changed)
	}
	return to
}

// seen are shards, each once and in order.
func (r *reader) seen() (list []rankcore.Seen) {
	for range r.length() {
		shard := r.uvarint()
		r.garbled = r.garbled || shard >= rankcore.MaxShards || len(list) > 0 && int(shard) <= list[len(list)-1].Shard
		list = append(list, rankcore.Seen{Shard: int(shard), Changed: r.position()})
	}
	return list
}

func appendPositions(to []byte, list []rankcore.Position) []byte {
	to = binary.AppendUvarint(to, uint64(len(list)))
	for _, p := range list {
		to = appendPosition(to, p)
	}
	return to
}

func (r *reader) positions() []rankcore.Position {
	list := make([]rankcore.Position, r.length())
	for i := range list {
		list[i] = r.position()
	}
	return list
}

// count is a number of members.
func (r *reader) count() int64 {
	n := r.uvarint()
	if n > math.MaxInt64 {
		r.garbled, n = true, 0
	}
	return int64(n)
}

func appendAbove(to []byte, a rankcore.Above) []byte {
	to = binary.AppendUvarint(to, uint64(a.Before))
	to = binary.AppendUvarint(to, uint64(a.Tied))
	to = binary.AppendUvarint(to, uint64(a.Total))
	return appendPosition(to, a.Version)
}

func (r *reader) above() (a rankcore.Above) {
	a.Before, a.Tied, a.Total = r.count(), r.count(), r.count()
	a.Version = r.position()
	r.garbled = r.garbled || a.Before > a.Total || a.Tied > a.Total-a.Before
	return a
}

func appendStretch(to []byte, st rankcore.Stretch) []byte {
	to = binary.AppendVarint(to, st.First)
	to = binary.AppendVarint(to, st.Last)
	to = binary.AppendUvarint(to, uint64(st.Before))
	to = binary.AppendUvarint(to, uint64(st.Rows))
	to = binary.AppendUvarint(to, uint64(st.Total))
	return appendPositions(appendPosition(to, st.Version), st.Changed)
}

func (r *reader) stretch() (st rankcore.Stretch) {
	st.First, st.Last = r.varint(), r.varint()
	st.Before, st.Rows, st.Total = r.count(), r.count(), r.count()
	st.Version, st.Changed = r.position(), r.positions()
	r.garbled = r.garbled || st.Before > st.Total || st.Rows > st.Total-st.Before
	return st
}

func appendPlaces(to []byte, p rankcore.Places) []byte {
	to = binary.AppendUvarint(to, uint64(len(p.Before)))
	for i := range p.Before {
		to = binary.AppendUvarint(to, uint64(p.Before[i]))
		to = binary.AppendUvarint(to, uint64(p.Tied[i]))
	}
	to = binary.AppendUvarint(to, uint64(p.Total))
	return appendPositions(appendPosition(to, p.Version), p.Changed)
}

func (r *reader) places() (p rankcore.Places) {
	n := r.length()
	p.Before, p.Tied = make([]int64, n), make([]int64, n)
	for i := range n {
		p.Before[i], p.Tied[i] = r.count(), r.count()
	}
	p.Total, p.Version, p.Changed = r.count(), r.position(), r.positions()
	for i := range n {
		r.garbled = r.garbled || p.Before[i] > p.Total || p.Tied[i] > p.Total-p.Before[i]
	}
	return p
}

func appendSegments(to []byte, c rankcore.SegmentCounts) []byte {
	to = binary.AppendUvarint(to, uint64(c.Total))
	to = appendPosition(to, c.Version)
	to = appendPositions(to, c.Changed)
	to = binary.AppendUvarint(to, uint64(len(c.Segments)))
	for _, g := range c.Segments {
		to = binary.AppendVarint(to, int64(g.Segment))
		to = binary.AppendUvarint(to, uint64(g.Members))
	}
	return to
}

// segments are counts that add up, of segments one after the other.
func (r *reader) segments() (c rankcore.SegmentCounts) {
	c.Total, c.Version = r.count(), r.position()
	c.Changed = r.positions()
	c.Segments = make([]rankcore.SegmentCount, r.length())
	left, last := c.Total, int64(math.MinInt32)-1
	for i := range c.Segments {
		g, n := r.varint(), r.count()
		r.garbled = r.garbled || g <= last || g > math.MaxInt32 || n > left
		c.Segments[i] = rankcore.SegmentCount{Segment: rankcore.Segment(g), Members: n}
		left, last = left-n, g
	}
	r.garbled = r.garbled || left != 0
	return c
}

// length is how many things of two numbers each follow.
func (r *reader) length() int {
	n := r.uvarint()
	if n > uint64(len(r.rest))/2 {
		r.garbled, r.rest, n = true, nil, 0
	}
	return int(n)
}

func appendHead(to []byte, h rankcore.Head) []byte {
	to = binary.AppendVarint(to, h.Last)
	to = binary.AppendUvarint(to, uint64(len(h.Shards)))
	for _, s := range h.Shards {
		to = binary.AppendUvarint(to, uint64(s.Rows))
		to = binary.AppendUvarint(to, uint64(s.Members))
		to = appendPosition(to, s.Changed)
	}
	return to
}

// head are parts of shards that have no more rows of the head than members.
func (r *reader) head() (h rankcore.Head) {
	h.Last = r.varint()
	if n := r.length(); n > 0 {
		h.Shards = make([]rankcore.ShardHead, n)
	}
	for i := range h.Shards {
		s := rankcore.ShardHead{Rows: r.count(), Members: r.count(), Changed: r.position()}
		r.garbled = r.garbled || s.Rows > s.Members
		h.Shards[i] = s
	}
	return h
}
