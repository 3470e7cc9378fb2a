package aggregate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// shelf is a season whose rows take a while to be read.
type shelf struct {
	readings
	mu    sync.Mutex
	reads []time.Time
	fails error
	work  sync.WaitGroup
}

func newShelf() *shelf {
	s := &shelf{}
	s.state = &boardState{}
	s.every = DefaultEvery
	s.run = s.work.Go
	s.read = func() (*rankcore.Page, error) {
		s.mu.Lock()
		s.reads = append(s.reads, time.Now())
		err := s.fails
		s.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		return &rankcore.Page{Meta: rankcore.Meta{Status: rankcore.Fresh}}, err
	}
	s.state.tell(rankcore.Progress{CaughtUp: time.Now()})
	return s
}

func (s *shelf) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reads)
}

// However many ask, and however often the board changes, it is read ten times a second, and nobody gets rows from
// before a change that the asker may have heard of.
func TestManyAskersShareReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		defer s.work.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var askers sync.WaitGroup
		askers.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Millisecond)
				s.state.announce()
			}
		})
		for range 50 {
			askers.Go(func() {
				for ctx.Err() == nil {
					changes := s.state.changed()
					r, err := s.get(ctx, time.Time{})
					if err == nil && r.changes < changes {
						t.Errorf("a reading of %d changes, when %d were told of", r.changes, changes)
					}
				}
			})
		}
		askers.Wait()
		if n := s.taken(); n < 90 || n > 101 {
			t.Errorf("%d readings in 10 s", n)
		}
	})
}

func TestRowsAreReadAgainOnlyWhenSomethingChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		defer s.work.Wait()
		ask := func(since time.Time, want int) {
			t.Helper()
			if _, err := s.get(t.Context(), since); err != nil || s.taken() != want {
				t.Fatalf("%d readings, %v, want %d", s.taken(), err, want)
			}
		}
		ask(time.Time{}, 1)
		time.Sleep(time.Hour)
		ask(time.Time{}, 1)
		s.state.announce()
		ask(time.Time{}, 2)
		time.Sleep(time.Second)
		ask(time.Now().Add(-time.Minute), 2)
		ask(time.Now(), 3) // whoever must not have what was read before
		s.state.tell(rankcore.Progress{CaughtUp: time.Now(), ShardsOut: 1})
		if _, err := s.get(t.Context(), time.Time{}); !errors.Is(err, errNotWhole) {
			t.Errorf("while a shard is out: %v", err)
		}
		s.state.tell(rankcore.Progress{CaughtUp: time.Now()})
		ask(time.Time{}, 4)
		s.fails = errors.New("shards are away")
		s.state.announce()
		if _, err := s.get(t.Context(), time.Time{}); !errors.Is(err, s.fails) {
			t.Errorf("a failed reading: %v", err)
		}
		s.fails = nil
		ask(time.Time{}, 6)
	})
}
