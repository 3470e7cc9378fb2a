package memstore

import (
	"strings"

	"rankgate/rankcore"
)

// season is one season of a shard: its members by name and in order. Hidden users' scores stand aside,
// in no count and no list. It belongs to the shard's lock.
type season struct {
	kind    rankcore.SeasonKind
	expires int64 // Unix milliseconds; unused for All
	order   rankcore.Order
	changed rankcore.Position // of the newest step that changed what readers see

	arena  *arena
	byName table
	ranked tree
	aside  map[rankcore.UserID]rankcore.Score
	waste  int // bytes in the arena of members that are gone
	names  int // bytes in the arena of members that are there
}

func newSeason(o rankcore.Order, kind rankcore.SeasonKind, expires int64) *season {
	a := &arena{}
	return &season{
		kind: kind, expires: expires, order: o, arena: a, ranked: tree{names: a},
		aside: map[rankcore.UserID]rankcore.Score{},
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

// score is the score of a ranked user.
func (s *season) score(hash uint32, user rankcore.UserID) (rankcore.Score, bool) {
	ref := s.ref(hash, user)
	if ref == 0 {
		return 0, false
	}
	return s.arena.score(ref), true
}

// enter ranks a user who is not ranked.
func (s *season) enter(hash uint32, user rankcore.UserID, score rankcore.Score) {
	ref := s.arena.add(user, score)
	s.names += recordBytes(len(user))
	s.byName.insert(hash, ref)
	s.ranked.insert(entry{s.order.Key(score), ref})
}

// move gives a member another score.
func (s *season) move(ref uint32, score rankcore.Score) {
	s.ranked.remove(entry{s.order.Key(s.arena.score(ref)), ref})
	s.arena.setScore(ref, score)
	s.ranked.insert(entry{s.order.Key(score), ref})
}

// leave takes a user out of the ranking and returns its score; false when it was not ranked.
func (s *season) leave(hash uint32, user rankcore.UserID) (rankcore.Score, bool) {
	i := s.find(hash, user)
	if i < 0 {
		return 0, false
	}
	ref := s.byName.slots[i].ref
	score := s.arena.score(ref)
	s.ranked.remove(entry{s.order.Key(score), ref})
	s.byName.remove(i)
	s.names -= recordBytes(len(user))
	s.waste += recordBytes(len(user))
	if s.waste > s.names && s.waste > chunkBytes {
		s.compact()
	}
	return score, true
}

// compact moves the members to a new arena without the waste. It costs time for every member, at most once
// for as many that left. The old arena's scores, which nobody reads any more, lead to the new records.
func (s *season) compact() {
	old, fresh := s.arena, &arena{}
	var b builder
	s.ranked.scan(0, func(e entry) bool {
		ref := fresh.add(old.name(e.ref), s.order.Score(e.key))
		old.setScore(e.ref, rankcore.Score(ref))
		b.add(entry{e.key, ref})
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
	score, ok := s.leave(hash, user)
	if ok {
		s.aside[rankcore.UserID(strings.Clone(string(user)))] = score
	}
	return ok
}

// show ranks a user whose score stood aside; false when none did.
func (s *season) show(hash uint32, user rankcore.UserID) bool {
	score, ok := s.aside[user]
	if ok {
		delete(s.aside, user)
		s.enter(hash, user, score)
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
