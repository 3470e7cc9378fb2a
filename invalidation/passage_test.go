package invalidation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

const tick = 200 * time.Millisecond // as beacons come

// heardAt is when it was first heard that every shard is at seq, in ticks since start; -1: not yet.
func (l *Listener) heardAt(t *testing.T, seq uint64, start time.Time) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	heard, err := l.Included(ctx, "power", at(seq))
	if errors.Is(err, context.DeadlineExceeded) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return int(heard.Sub(start) / tick)
}

func TestIncluded(t *testing.T) {
	beacon := func(seq uint64, out int) func(*testing.T, *Listener, uint64) {
		return func(t *testing.T, l *Listener, n uint64) {
			t.Helper()
			p := progress(seq)
			p.ShardsOut = out
			l.hearBeacon(t, from("a", n), p)
		}
	}
	broadcast := func(seq uint64) func(*testing.T, *Listener, uint64) {
		return func(t *testing.T, l *Listener, n uint64) {
			t.Helper()
			l.hearBroadcast(t, from("a", n), rankcore.Change{Board: "power", To: at(seq), All: true})
		}
	}
	type news = func(*testing.T, *Listener, uint64)
	for _, c := range []struct {
		name  string
		heard []news // one each tick, at 0, 1, ...
		seq   uint64
		want  int
	}{
		{"nothing heard", nil, 5, -1},
		{"not yet", []news{beacon(4, 0)}, 5, -1},
		{"a beacon", []news{beacon(4, 0), beacon(5, 0)}, 5, 1},
		{"one further on", []news{beacon(4, 0), beacon(9, 0)}, 5, 1},
		{"the first of several", []news{beacon(4, 0), beacon(5, 0), beacon(6, 0), beacon(7, 0)}, 5, 1},
		{"long passed", []news{beacon(9, 0), beacon(10, 0)}, 5, 0},
		{"a broadcast", []news{beacon(4, 0), broadcast(5)}, 5, 1},
		{"a broadcast before any beacon", []news{broadcast(5)}, 5, -1},
		{"a shard is out", []news{beacon(4, 0), beacon(5, 1)}, 5, -1},
		{"a broadcast while a shard is out", []news{beacon(4, 1), broadcast(5)}, 5, -1},
		{"a shard comes back", []news{beacon(4, 1), broadcast(5), beacon(5, 0)}, 5, 2},
		{"the applier went back", []news{beacon(9, 0), beacon(4, 0)}, 5, -1},
		{"and came again", []news{beacon(9, 0), beacon(4, 0), beacon(6, 0)}, 5, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := ear()
				start := time.Now()
				for i, hear := range c.heard {
					time.Sleep(time.Until(start.Add(time.Duration(i) * tick)))
					hear(t, l, uint64(i+1))
				}
				time.Sleep(tick)
				if got := l.heardAt(t, c.seq, start); got != c.want {
					t.Errorf("heard at tick %d, want %d", got, c.want)
				}
			})
		})
	}
}

func TestIncludedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := ear()
		heard := make(chan time.Time)
		go func() {
			since, err := l.Included(t.Context(), "power", at(5))
			if err != nil {
				t.Error(err)
			}
			heard <- since
		}()
		time.Sleep(tick)
		l.hearBeacon(t, from("a", 1), progress(4))
		time.Sleep(tick)
		now := time.Now()
		l.hearBeacon(t, from("a", 2), progress(5))
		if since := <-heard; !since.Equal(now) {
			t.Errorf("heard %v, want %v", since, now)
		}
		if _, err := l.Included(t.Context(), "nothing", at(5)); err == nil {
			t.Error("a board that is not listened to")
		}
	})
}

// The memory of passages is bounded, and errs on the late side.
func TestPassagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := ear()
		start := time.Now()
		const all = 3 * maxPassages
		for n := range uint64(all) {
			l.hearBeacon(t, from("a", n+1), progress(n+1))
			time.Sleep(tick)
		}
		if n := len(*l.boards["power"].passages.Load()); n != maxPassages {
			t.Errorf("%d are remembered", n)
		}
		if got := l.heardAt(t, 1, start); got != all-maxPassages {
			t.Errorf("the first was heard at tick %d", got)
		}
		if got := l.heardAt(t, all, start); got != all-1 {
			t.Errorf("the last was heard at tick %d", got)
		}
	})
}
