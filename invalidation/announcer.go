package invalidation

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

const (
	// DefaultEvery is how often a beacon is sent: several per default freshness bound.
	DefaultEvery = 200 * time.Millisecond

	pace = 5 * time.Millisecond // changes are told at once, and then no more often than this
)

// AnnouncerConfig says how an Announcer behaves.
type AnnouncerConfig struct {
	Conn       *nats.Conn            // should not buffer while it reconnects: an invalidation that comes late is worth little
	Every      time.Duration         // between beacons; at most a fifth of the smallest freshness bound. Zero: DefaultEvery
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: no metrics
}

// Announcer tells every gateway what an applier did. Announce and Progress only take notes, so they never
// block; Run sends. While NATS is away notes are dropped and counted, and their numbers are used up, so
// that listeners see the gap. Safe for concurrent use by several appliers of one process.
type Announcer struct {
	conn    *nats.Conn
	every   time.Duration
	log     *slog.Logger
	metrics *announcerMetrics
	source  string
	wake    chan struct{} // there is something to send now
	echoes  echoes

	n uint64 // of the newest message; only Run touches it

	// mu guards the notes. Never held while publishing.
	mu      sync.Mutex
	changes map[rankcore.BoardID]*change
	boards  map[rankcore.BoardID]rankcore.Progress
	moved   map[rankcore.BoardID]struct{} // boards whose progress somebody may be waiting for
}

// NewAnnouncer returns an Announcer with a source name of its own.
func NewAnnouncer(cfg AnnouncerConfig) *Announcer {
	if cfg.Every <= 0 {
		cfg.Every = DefaultEvery
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Announcer{
		conn:    cfg.Conn,
		every:   cfg.Every,
		log:     cfg.Logger,
		metrics: newAnnouncerMetrics(cfg.Registerer),
		source:  newID(),
		wake:    make(chan struct{}, 1),
		changes: make(map[rankcore.BoardID]*change),
		boards:  make(map[rankcore.BoardID]rankcore.Progress),
		moved:   make(map[rankcore.BoardID]struct{}),
	}
}

// Announce notes what a batch changed, before Progress tells of its position. The slice is not kept.
func (a *Announcer) Announce(c rankcore.Change) {
	a.mu.Lock()
	pending := a.changes[c.Board]
	if pending == nil {
		pending = &change{}
		a.changes[c.Board] = pending
	}
	pending.add(c)
	if p, told := a.boards[c.Board]; told && p.Applied.Seq < c.To.Seq { // a shard that catches up tells of the past
		p.Applied = c.To // so that no beacon in between tells of an earlier position
		a.boards[c.Board] = p
	}
	a.mu.Unlock()
	a.awake()
}

// Progress notes how far a board is. It goes out with the next beacon, or soon when the board moved on.
func (a *Announcer) Progress(p rankcore.Progress) {
	a.mu.Lock()
	last := a.boards[p.Board]
	a.boards[p.Board] = p
	moved := last.Applied != p.Applied || last.ShardsOut != p.ShardsOut
	if moved {
		a.moved[p.Board] = struct{}{}
	}
	a.mu.Unlock()
	if moved {
		a.awake()
	}
}

// Withdraw ends what Progress told of a board: this process does not apply it any more.
func (a *Announcer) Withdraw(board rankcore.BoardID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.boards, board)
	delete(a.moved, board)
}

func (a *Announcer) awake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends, and then returns nil. It returns an error only if it cannot hear the listeners' calls.
func (a *Announcer) Run(ctx context.Context) error {
	calls, err := a.echoes.listen(a.conn)
	if err != nil {
		return err
	}
	defer func() { _ = calls.Unsubscribe() }() // the connection may be closed already
	beat := time.NewTicker(a.every)
	defer beat.Stop()
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			a.send(false)
			return nil
		case <-beat.C:
			a.send(true)
		case <-a.wake:
			a.send(false)
			rest.Reset(pace)
			select {
			case <-rest.C:
			case <-ctx.Done():
			}
		}
	}
}

// send publishes the changes, then the progress of every board, or of those that moved and whose broadcast
// does not say so. Both are taken in one step: a position told before the changes up to it would let a
// reader who waited for it find the answer from before.
func (a *Announcer) send(everyBoard bool) {
	heard := a.echoes.newest(time.Now()) // first: what is told is of a moment after these calls
	a.mu.Lock()
	changes, moved := a.changes, a.moved
	var boards []rankcore.Progress
	for id, p := range a.boards {
		_, news := moved[id]
		if c := changes[id]; c != nil && c.to == p.Applied && p.ShardsOut == 0 {
			news = false
		}
		if everyBoard || news {
			boards = append(boards, p)
		}
	}
	a.changes, a.moved = make(map[rankcore.BoardID]*change), make(map[rankcore.BoardID]struct{})
	a.mu.Unlock()
	for id, c := range changes {
		payload, err := encodeBroadcast(a.next(), c.change(id))
		a.publish(a.metrics.broadcasts, invalidatePrefix+string(id), payload, err)
	}
	a.sendBeacon(boards, heard)
}

func (a *Announcer) sendBeacon(boards []rankcore.Progress, heard map[string]uint64) {
	for len(boards) > 0 {
		part := boards[:min(len(boards), maxBeaconBoards)]
		boards = boards[len(part):]
		payload, err := encodeBeacon(a.next(), part, heard, time.Now())
		a.publish(a.metrics.beacons, beaconSubject, payload, err)
	}
}

func (a *Announcer) next() number {
	a.n++
	return number{V: version, Source: a.source, N: a.n}
}

func (a *Announcer) publish(sent prometheus.Counter, subject string, payload []byte, err error) {
	if err == nil {
		err = nats.ErrDisconnected
		if a.conn.IsConnected() {
			err = a.conn.Publish(subject, payload)
		}
	}
	if err != nil {
		a.metrics.dropped.Inc()
		a.log.Debug("invalidation dropped", "subject", subject, "err", err)
		return
	}
	sent.Inc()
}
