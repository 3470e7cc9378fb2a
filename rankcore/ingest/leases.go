package ingest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"rankgate/rankcore"
)

// Subjects by which cores hear of each other.
const (
	coresSubject = "rankgate.cores"  // what each applies, every second
	coreSubjects = "rankgate.cores." // and its name: asked whether it is there
)

const (
	// rollEvery is how often a core tells what it applies, and looks whether others apply much less.
	rollEvery = time.Second
	// rollLasts is how long that is believed.
	rollLasts = 3 * time.Second
	// steadyFor is how long a board stays where it is before it may move to a core with less to do: a new holder
	// begins by asking every shard where it is.
	steadyFor = 10 * time.Second
)

// LeasesConfig describes the leases of a core.
type LeasesConfig struct {
	Log    *Log
	Boards []*rankcore.Board
	Shards string       // names the shards, in letters and digits: cores that feed others do not stand by for them
	Logger *slog.Logger // nil: silent
}

// Leases let cores share the work: of each board one core is the applier, and the others stand by. They rest on
// nothing but effort. Whoever applies without a lease, because it was frozen past it or because leases cannot be
// kept, does no harm: its steps fit or change nothing. Safe for concurrent use.
type Leases struct {
	core   string // a name for this process
	shards string
	owner  *Log
	conn   *nats.Conn
	store  leaseStore
	boards map[rankcore.BoardID]*lease
	steady time.Duration // steadyFor, but in tests
	log    *slog.Logger

	listening chan struct{} // closed when others can ask whether this core is there

	// mu guards peers. Never held while calling anything.
	mu    sync.Mutex
	peers map[string]peer
}

// peer is another core.
type peer struct {
	boards int // that it applies
	heard  time.Time
}

// roll is what a core tells of itself.
type roll struct {
	Core   string                      `json:"core"`
	Shards string                      `json:"shards"`
	Boards map[rankcore.BoardID]string `json:"boards"`         // that it applies, and the position all their shards have reached
	Left   rankcore.BoardID            `json:"left,omitempty"` // whose lease it has just let go
}

// NewLeases returns the leases of a core. Run is needed before one can be had.
func NewLeases(cfg LeasesConfig) *Leases {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ls := &Leases{
		core: rand.Text(), shards: cfg.Shards,
		owner: cfg.Log, conn: cfg.Log.stream.conn,
		store:  leaseStore{js: cfg.Log.stream.js, replicas: cfg.Log.cfg.Replicas},
		boards: make(map[rankcore.BoardID]*lease, len(cfg.Boards)), steady: steadyFor, log: cfg.Logger,
		listening: make(chan struct{}), peers: map[string]peer{},
	}
	for _, b := range cfg.Boards {
		ls.boards[b.ID] = &lease{
			all: ls, board: b.ID, key: ls.shards + "." + string(b.ID),
			wake: make(chan struct{}, 1), leave: make(chan struct{}, 1),
		}
	}
	return ls
}

// Holds reports whether this core is to apply the board now. Nil leases are all held.
func (ls *Leases) Holds(id rankcore.BoardID) bool {
	if ls == nil {
		return true
	}
	l := ls.boards[id]
	return l != nil && l.since.Load() != 0
}

// Run tells other cores what this one applies, hears what they do, and passes boards on to those that do less,
// until ctx ends.
func (ls *Leases) Run(ctx context.Context) error {
	here, err := ls.conn.Subscribe(coreSubjects+ls.core, func(m *nats.Msg) { _ = m.Respond(nil) }) // unanswered is like not there
	if err == nil {
		defer func() { _ = here.Unsubscribe() }() // the connection may be closed already
		var rolls *nats.Subscription
		if rolls, err = ls.conn.Subscribe(coresSubject, func(m *nats.Msg) { ls.hear(m.Data, time.Now()) }); err == nil {
			defer func() { _ = rolls.Unsubscribe() }()
		}
	}
	if err != nil {
		return fmt.Errorf("listen to other cores: %w", err)
	}
	close(ls.listening)
	tick := time.NewTicker(rollEvery)
	defer tick.Stop()
	var passed time.Time
	for {
		ls.tell("")
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if now.Sub(passed) >= ls.steady && ls.pass(now) {
				passed = now
			}
		}
	}
}

// tell publishes the roll. One that is lost is told again.
func (ls *Leases) tell(left rankcore.BoardID) {
	r := roll{Core: ls.core, Shards: ls.shards, Boards: map[rankcore.BoardID]string{}, Left: left}
	for id := range ls.boards {
		if ls.Holds(id) {
			r.Boards[id] = ls.owner.trim.own(id, time.Now()).String()
		}
	}
	if data, err := json.Marshal(r); err == nil && ls.conn.IsConnected() {
		_ = ls.conn.Publish(coresSubject, data)
	}
}

// hear takes another core's roll in: how much it does, how far its boards' shards are, and what it let go.
func (ls *Leases) hear(data []byte, now time.Time) {
	var r roll
	if json.Unmarshal(data, &r) != nil || r.Core == ls.core || r.Core == "" || r.Shards != ls.shards {
		return
	}
	ls.mu.Lock()
	for name, p := range ls.peers {
		if now.Sub(p.heard) > rollLasts {
			delete(ls.peers, name)
		}
	}
	ls.peers[r.Core] = peer{len(r.Boards), now}
	ls.mu.Unlock()
	for id, at := range r.Boards {
		p, err := rankcore.ParsePosition(at)
		if err == nil && !p.IsNone() && ls.boards[id] != nil && !ls.Holds(id) {
			ls.owner.trim.report(id, p, false)
		}
	}
	if l := ls.boards[r.Left]; l != nil {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// gone reports whether the core is known not to be there: nobody listens to its name.
func (ls *Leases) gone(ctx context.Context, core string) bool {
	ctx, cancel := context.WithTimeout(ctx, leasePatience/4)
	defer cancel()
	_, err := ls.conn.RequestWithContext(ctx, coreSubjects+core, nil)
	return errors.Is(err, nats.ErrNoResponders)
}

// held is how many boards this core applies.
func (ls *Leases) held() (n int) {
	for id := range ls.boards {
		if ls.Holds(id) {
			n++
		}
	}
	return n
}

// ahead is how many more boards this core applies than the one that applies the fewest; 0 where no other is known.
func (ls *Leases) ahead() int {
	most := ls.held()
	least := most
	now := time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, p := range ls.peers {
		if now.Sub(p.heard) <= rollLasts {
			least = min(least, p.boards)
		}
	}
	return most - least
}

// pass has one board's lease let go, if another core applies at least two boards fewer.
func (ls *Leases) pass(now time.Time) bool {
	if ls.ahead() < 2 {
		return false
	}
	for _, l := range ls.boards {
		since := l.since.Load()
		if since == 0 || now.Sub(time.Unix(0, since)) < ls.steady {
			continue
		}
		select {
		case l.leave <- struct{}{}:
			return true
		default:
		}
	}
	return false
}
