package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

// core is a process that may apply boards, as far as leases go: a connection, a log, leases and appliers.
type core struct {
	conn     *nats.Conn
	log      *Log
	leases   *Leases
	appliers map[rankcore.BoardID]*Applier
	asked    atomic.Int64 // calls of the shards
	stop     func()
}

// counted are shards that count who calls them.
type counted struct {
	Shards
	calls *atomic.Int64
}

func (c counted) Positions(ctx context.Context, b *rankcore.Board) []rankcore.StepResult {
	c.calls.Add(1)
	return c.Shards.Positions(ctx, b)
}

func (c counted) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	c.calls.Add(1)
	return c.Shards.Apply(ctx, b, steps)
}

// startCore runs a core of the boards whose shards the models are.
func startCore(r *rig, models ...*model) *core {
	r.t.Helper()
	c := &core{conn: r.dial(), appliers: map[rankcore.BoardID]*Applier{}}
	var boards []*rankcore.Board
	for _, m := range models {
		boards = append(boards, m.board)
	}
	var stopLog func()
	c.log, stopLog = r.runLog(func(cfg *LogConfig) { cfg.Conn = c.conn }, boards...)
	c.leases = NewLeases(LeasesConfig{Log: c.log, Boards: boards, Shards: "model", Logger: r.logger})
	c.leases.steady = time.Second
	stops := []func(){stopLog, running(r.t, c.leases.Run)}
	for _, m := range models {
		a := NewApplier(ApplierConfig{
			Log: c.log, Board: m.board, Shards: counted{m, &c.asked}, Announcer: &heard{}, Leases: c.leases, Logger: r.logger,
		})
		c.appliers[m.board.ID] = a
		stops = append(stops, running(r.t, a.Run))
	}
	c.stop = sync.OnceFunc(func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	})
	r.t.Cleanup(c.stop)
	return c
}

// vanish is a core whose process is gone: nothing of it is heard any more.
func (c *core) vanish() {
	c.conn.Close()
	c.stop()
}

// leads waits until exactly one of the cores applies the board, and returns which, and those that stand by.
func leads(t *testing.T, b *rankcore.Board, cores ...*core) (leader *core, others []*core) {
	t.Helper()
	eventually(t, func() string {
		leader, others = nil, nil
		for _, c := range cores {
			switch {
			case !c.leases.Holds(b.ID) && c.appliers[b.ID].Status().StandsBy:
				others = append(others, c)
			case c.leases.Holds(b.ID) && !c.appliers[b.ID].Status().CaughtUp.IsZero():
				leader = c
			}
		}
		if leader == nil || len(others) != len(cores)-1 {
			return fmt.Sprintf("of %d cores %d stand by", len(cores), len(others))
		}
		return ""
	})
	return leader, others
}

func TestOneCoreAppliesAndAnotherTakesOver(t *testing.T) {
	for name, leave := range map[string]func(*core){
		"stopped":  func(c *core) { c.stop() },
		"vanished": (*core).vanish,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			b := testBoard("power", 4)
			m := newModel(b)
			cores := []*core{startCore(r, m), startCore(r, m)}
			leader, others := leads(t, b, cores...)
			other := others[0]
			want := map[string]int64{}
			fill(t, other.log, b, "a", 20, want) // writes go through any
			m.scored(t, want)
			settled(t, leader.appliers[b.ID], leader.log.stream)
			if n := other.asked.Load(); n != 0 {
				t.Errorf("the core that stands by called the shards %d times", n)
			}
			began := time.Now()
			leave(leader)
			fill(t, other.log, b, "b", 20, want)
			m.scored(t, want)
			settled(t, other.appliers[b.ID], other.log.stream)
			t.Logf("taken over and all applied after %v", time.Since(began).Round(time.Millisecond))
			leads(t, b, other)
		})
	}
}

// A core that starts alone does not wait for one that is not there any more.
func TestLoneCoreStartsThoughItsLeaseIsHeld(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	c := startCore(r, m)
	leads(t, b, c)
	c.vanish()
	began := time.Now()
	again := startCore(r, m)
	leads(t, b, again)
	t.Logf("applies after %v", time.Since(began).Round(time.Millisecond))
}

// A core that was frozen past its lease learns it with its next renewal. Until then two apply, and no operation
// counts twice.
func TestHolderThatLostItsLeaseStandsBy(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	cores := []*core{startCore(r, m), startCore(r, m)}
	leader, others := leads(t, b, cores...)
	want := map[string]int64{}
	fill(t, leader.log, b, "a", 20, want)
	l := leader.leases.boards[b.ID]
	e, err := l.get(t.Context())
	for err == nil { // until no renewal comes between
		if _, err = others[0].leases.store.set(t.Context(), l.key, others[0].leases.core, e.revision); err == nil {
			break
		}
		e, err = l.get(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	fill(t, leader.log, b, "b", 20, want)
	eventually(t, func() string {
		if !leader.appliers[b.ID].Status().StandsBy {
			return "it does not stand by"
		}
		return ""
	})
	m.scored(t, want)
	now, _ := leads(t, b, cores...)
	fill(t, now.log, b, "c", 20, want)
	m.scored(t, want)
	settled(t, now.appliers[b.ID], now.log.stream)
}

// What the leases are kept in may be lost, or come back as it was earlier. The holder goes on, and stays alone.
func TestLeasesLostOrRestoredOlder(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	cores := []*core{startCore(r, m), startCore(r, m)}
	leader, _ := leads(t, b, cores...)
	want := map[string]int64{}
	raw := leaseStore{js: r.raw().js, replicas: 1}
	for i, old := range []string{"", "somebody"} {
		eventually(t, func() string { // the holder may be quicker to make them anew
			err := raw.js.DeleteKeyValue(t.Context(), LeaseBucket)
			if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
				return err.Error()
			}
			raw.bucket.Store(nil)
			if old != "" {
				if _, err := raw.set(t.Context(), leader.leases.boards[b.ID].key, old, 0); err != nil {
					return err.Error()
				}
			}
			return ""
		})
		fill(t, leader.log, b, fmt.Sprint("part", i), 20, want)
		m.scored(t, want)
		leader, _ = leads(t, b, cores...)
	}
	r.stop() // in memory: nothing of them is left
	r.start()
	fill(t, cores[0].log, b, "last", 20, want)
	m.scored(t, want)
	leader, _ = leads(t, b, cores...)
	settled(t, leader.appliers[b.ID], leader.log.stream)
}

// Where leases cannot be kept, every core applies, and it is right all the same.
func TestWithoutLeasesEveryCoreApplies(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	m := newModel(b)
	raw := r.raw()
	if _, err := raw.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KV_" + LeaseBucket, Subjects: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	cores := []*core{startCore(r, m), startCore(r, m)}
	want := map[string]int64{}
	fill(t, cores[0].log, b, "a", 20, want)
	m.scored(t, want)
	for _, c := range cores {
		settled(t, c.appliers[b.ID], c.log.stream)
	}
	if err := raw.js.DeleteStream(t.Context(), "KV_"+LeaseBucket); err != nil {
		t.Fatal(err)
	}
	leads(t, b, cores...)
	fill(t, cores[0].log, b, "b", 20, want)
	m.scored(t, want)
}

// Boards spread over cores that come later, and each core knows how far the others' boards are.
func TestBoardsSpreadOverCores(t *testing.T) {
	r := newRig(t)
	var models []*model
	for i := range 4 {
		models = append(models, newModel(testBoard(fmt.Sprint("board", i), 2)))
	}
	first := startCore(r, models...)
	for _, m := range models {
		leads(t, m.board, first)
	}
	second := startCore(r, models...)
	eventually(t, func() string {
		if a, b := first.leases.held(), second.leases.held(); a != 2 || b != 2 {
			return fmt.Sprintf("one applies %d boards and the other %d", a, b)
		}
		return ""
	})
	for _, m := range models {
		leads(t, m.board, first, second)
		want := map[string]int64{}
		fill(t, second.log, m.board, "a", 10, want)
		m.scored(t, want)
	}
	eventually(t, func() string {
		for _, c := range []*core{first, second} {
			if _, ok := c.log.trim.lowest(time.Now()); !ok {
				return "a core does not know how far every board is"
			}
		}
		return ""
	})
}

// Cores that feed other shards do not stand by.
func TestCoresOfOtherShardsHaveLeasesOfTheirOwn(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	l, _ := r.runLog(nil, b)
	var models []*model
	for _, shards := range []string{"old", "new"} {
		m := newModel(b)
		models = append(models, m)
		leases := NewLeases(LeasesConfig{Log: l, Boards: []*rankcore.Board{b}, Shards: shards, Logger: r.logger})
		running(t, leases.Run)
		a := NewApplier(ApplierConfig{Log: l, Board: b, Shards: m, Announcer: &heard{}, Leases: leases, Logger: r.logger})
		running(t, a.Run)
	}
	want := map[string]int64{}
	fill(t, l, b, "a", 20, want)
	for _, m := range models {
		m.scored(t, want)
	}
}
