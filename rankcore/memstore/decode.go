package memstore

import (
	"encoding/binary"
	"errors"

	"rankgate/rankcore"
)

var errFormat = errors.New("the content does not follow the format")

// decoder reads what encoder wrote. The first error stays; reads after it give zeros.
type decoder struct {
	rest []byte
	err  error
}

// decode fills an empty shard with a state of a board with the same rule for ties.
func decode(data []byte, s *shard) error {
	d := &decoder{rest: data}
	s.position = d.position()
	s.lost = d.flag()
	for range d.count() {
		s.hidden[d.user()] = struct{}{}
	}
	for range d.count() {
		d.season(s)
	}
	d.ids(s.ids)
	if d.err == nil && len(d.rest) > 0 {
		d.fail()
	}
	return d.err
}

func (d *decoder) season(s *shard) {
	id := rankcore.SeasonID(d.bytes(d.count()))
	se := newSeason(s.board.Order, s.board.Ties, rankcore.SeasonKind(d.uvarint()), d.varint())
	order := rankcore.Order(d.uvarint())
	se.changed = d.position()
	d.members(s, se, order, d.count())
	for range d.count() {
		u := d.user()
		at := reached{score: rankcore.Score(d.varint())}
		if se.arena.hasArrivals() {
			at.arrival = rankcore.Arrival(d.uvarint())
		}
		se.aside[u] = at
	}
	s.seasons[id] = se
}

// members reads n members. They stand in the order the board had then; if it has another one now, each
// finds its place anew.
func (d *decoder) members(s *shard, se *season, order rankcore.Order, n int) {
	se.byName = tableFor(n)
	var sorted builder
	key, arrival := int64(0), rankcore.Arrival(0)
	for range n {
		key += d.varint()
		if se.arena.hasArrivals() {
			arrival += rankcore.Arrival(d.varint())
		}
		name := d.bytes(d.count())
		if d.err != nil || len(name) == 0 || len(name) > rankcore.MaxUserBytes {
			d.fail()
			return
		}
		user, at := rankcore.UserID(name), reached{order.Score(key), arrival}
		if order != s.board.Order {
			se.enter(s.hash(user), user, at)
			continue
		}
		ref := se.arena.add(user, at)
		se.names += se.arena.recordBytes(user)
		se.byName.insert(s.hash(user), ref)
		sorted.add(key, ref)
	}
	if order == s.board.Order {
		se.ranked = sorted.tree(se.arena)
	}
}

func (d *decoder) ids(m *memory) {
	stored := int64(0)
	for range d.count() {
		key := d.bytes(len(rankcore.OpKey{}))
		stored += d.varint()
		digest, outcome := uint32(d.uvarint()), rankcore.Outcome(d.uvarint())
		if d.err != nil {
			return
		}
		k := rankcore.OpKey(key)
		m.put(m.hash(&k), &k, stored, digest, outcome)
	}
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = errFormat
	}
	d.rest = nil
}

// count is the number of things that follow. Each takes a byte at least, so a larger number is wrong.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) user() rankcore.UserID { return rankcore.UserID(d.bytes(d.count())) }

func (d *decoder) position() rankcore.Position {
	return rankcore.Position{Seq: d.uvarint(), Time: d.varint()}
}

func (d *decoder) flag() bool { return d.uvarint() != 0 }

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// bytes are the next n bytes, as a view.
func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}
