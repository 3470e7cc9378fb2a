package memstore

import (
	"strings"

	"rankgate/rankcore"
)

// season is one season of a shard: its members by name and in order. Hidden users' scores stand aside,
// in no count and no list. It belongs to the board's lock.
type season struct {
	kind    rankcore.SeasonKind
	expires int64 // Unix milliseconds; unused for All
	order   rankcore.Order
	ties    rankcore.Ties
	changed rankcore.Position // of the newest step that changed what readers see
	all     *standings        // that count this part of the season; nil: none do

	arena  *arena
	byName table
	ranked tree
	aside  map[rankcore.UserID]reached
	waste  int // bytes in the arena of members that are gone
	names  int // bytes in the arena of members that are there
}

// reached is a score, and when its member reached it.
type reached struct {
	score   rankcore.Score
	arrival rankcore.Arrival
}

func newSeason(o rankcore.Order, t rankcore.Ties, kind rankcore.SeasonKind, expires int64) *season {
	a := newArena(t)
	return &season{
		kind: kind, expires: expires, order: o, ties: t, arena: a, ranked: tree{names: a},
		aside: map[rankcore.UserID]reached{},
	}
}

// kept reports whether the season is still kept at ms, Unix milliseconds of log time.
func (s *season) kept(ms int64) bool { return s.kind == rankcore.All || ms < s.expires }

// find is the member's slot; -1 when the user is not ranked.
func (s *season) find(hash uint32, user rankcore.UserID) int {
	return s.byName.find(hash, func(ref uint32) bool { return s.arena.name(ref) == user })
}

// ref is the member's record; 0 when the user is not ranked.
func (s *season) ref(hash uint32, user rankcore.UserID) uint32 {
	i := s.find(hash, user)
	if i < 0 {
		return 0
	}
	return s.byName.slots[i].ref
}

// reached is what a ranked user has reached.
func (s *season) reached(hash uint32, user rankcore.UserID) (reached, bool) {
	ref := s.ref(hash, user)
	if ref == 0 {
		return reached{}, false
	}
	return reached{s.arena.score(ref), s.arena.arrival(ref)}, true
}

// entry is a member's place as its record has it.
func (s *season) entry(ref uint32) entry {
	return entry{s.order.Key(s.arena.score(ref)), s.arena.arrival(ref), ref}
}

// enter ranks a user who is not ranked.
func (s *season) enter(hash uint32, user rankcore.UserID, at reached) {
	ref := s.arena.add(user, at)
	s.names += s.arena.recordBytes(user)
	s.byName.insert(hash, ref)
	s.rank(ref)
}

// move gives a member another score.
func (s *season) move(ref uint32, at reached) {
	s.unrank(ref)
	s.arena.set(ref, at)
	s.rank(ref)
}

// rank gives a member its place.
func (s *season) rank(ref uint32) {
	e := s.entry(ref)
	s.ranked.insert(e)
	if s.all != nil {
		s.all.counts.Add(e.key, 1)
	}
}

// unrank takes a member from its place.
func (s *season) unrank(ref uint32) {
	e := s.entry(ref)
	s.ranked.remove(e)
	if s.all != nil {
		s.all.counts.Add(e.key, -1)
	}
}

// leave takes a user out of the ranking and returns what it had reached; false when it was not ranked.
func (s *season) leave(hash uint32, user rankcore.UserID) (reached, bool) {
	i := s.find(hash, user)
	if i < 0 {
		return reached{}, false
	}
	ref := s.byName.slots[i].ref
	at := reached{s.arena.score(ref), s.arena.arrival(ref)}
	s.unrank(ref)
	s.byName.remove(i)
	s.names -= s.arena.recordBytes(user)
	s.waste += s.arena.recordBytes(user)
	if s.waste > s.names && s.waste > chunkBytes {
		s.compact()
	}
	return at, true
}

// compact moves the members to a new arena without the waste. It costs time for every member, at most once
// for as many that left. The old arena's scores, which nobody reads any more, lead to the new records.
func (s *season) compact() {
	old, fresh := s.arena, newArena(s.ties)
	var b builder
	s.ranked.scan(0, func(e entry) bool {
		ref := fresh.add(old.name(e.ref), reached{s.order.Score(e.key), e.arrival})
		old.setScore(e.ref, rankcore.Score(ref))
		b.add(e.key, ref)
		return true
	})
	byName := tableFor(s.ranked.size)
	for _, sl := range s.byName.slots {
		if sl.ref != 0 {
			byName.insert(sl.hash, uint32(old.score(sl.ref)))
		}
	}
	s.arena, s.byName, s.ranked, s.waste = fresh, byName, b.tree(fresh), 0
}

// hide puts a user's score aside; false when it was not ranked.
func (s *season) hide(hash uint32, user rankcore.UserID) bool {
	at, ok := s.leave(hash, user)
	if ok {
		s.aside[rankcore.UserID(strings.Clone(string(user)))] = at
	}
	return ok
}

// show ranks a user whose score stood aside, where it stood if the score did not change; false when none did.
func (s *season) show(hash uint32, user rankcore.UserID) bool {
	at, ok := s.aside[user]
	if ok {
		delete(s.aside, user)
		s.enter(hash, user, at)
	}
	return ok
}

// remove takes a user out, ranked or aside. visible: it was ranked.
func (s *season) remove(hash uint32, user rankcore.UserID) (removed, visible bool) {
	if _, ok := s.aside[user]; ok {
		delete(s.aside, user)
		return true, false
	}
	_, ok := s.leave(hash, user)
	return ok, ok
}
