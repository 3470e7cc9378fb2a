package degrade

import (
	"container/list"
	"sync"
	"time"

	"rankgate/rankcore"
)

// question holds everything that changes an answer. Of pages only one around a user has a user, and only one of a walk
// has a place and a range.
type question struct {
	board         rankcore.BoardID
	season        rankcore.SeasonID
	user          rankcore.UserID
	precision     rankcore.Precision
	offset, limit int
	after         rankcore.Place
	within        rankcore.ScoreRange
}

// memory holds the last good answer to each of the most recently asked questions.
type memory[T any] struct {
	capacity int
	needed   func(question) bool // its answer outlasts others', since an older one would be shown instead; nil: none does

	mu     sync.Mutex
	recent *list.List // of *remembered[T], the most recently kept or shown first
	byKey  map[question]*list.Element
}

type remembered[T any] struct {
	question question
	answer   *T
	asOf     time.Time
}

func newMemory[T any](capacity int) *memory[T] {
	return &memory[T]{capacity: capacity, recent: list.New(), byKey: make(map[question]*list.Element)}
}

// keep remembers an answer of the core's that shows something. One that was true before the remembered one is late and
// is not kept: as_of never goes backwards. That holds for one that is stale as it comes, too: readers have seen it.
func (m *memory[T]) keep(q question, answer *T, meta rankcore.Meta) {
	if meta.Status == rankcore.Updating {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[q]; ok {
		m.recent.MoveToFront(e)
		if r := recall[T](e); !meta.AsOf.Before(r.asOf) {
			r.answer, r.asOf = answer, meta.AsOf
		}
		return
	}
	m.byKey[q] = m.recent.PushFront(&remembered[T]{q, answer, meta.AsOf})
	if m.recent.Len() > m.capacity {
		m.makeRoom()
	}
}

// mostSpared bounds how many answers in a row are spared when one has to go.
const mostSpared = 16

// makeRoom drops the answer that was not asked for the longest time, of those that are not needed. It needs mu.
func (m *memory[T]) makeRoom() {
	for range mostSpared {
		oldest := m.recent.Back()
		if m.needed == nil || !m.needed(recall[T](oldest).question) {
			break
		}
		m.recent.MoveToFront(oldest)
	}
	m.drop(m.recent.Back())
}

// last is the remembered answer, unless it is older than maxAge, and then forgotten.
func (m *memory[T]) last(q question, maxAge time.Duration) (*T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[q]
	if !ok {
		return nil, false
	}
	r := recall[T](e)
	if time.Since(r.asOf) > maxAge {
		m.drop(e)
		return nil, false
	}
	m.recent.MoveToFront(e)
	return r.answer, true
}

func (m *memory[T]) forget(q question) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[q]; ok {
		m.drop(e)
	}
}

// drop needs mu.
func (m *memory[T]) drop(e *list.Element) {
	m.recent.Remove(e)
	delete(m.byKey, recall[T](e).question)
}

func recall[T any](e *list.Element) *remembered[T] {
	return e.Value.(*remembered[T]) // nothing else is ever put into recent
}
