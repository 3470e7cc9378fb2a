package invalidation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// backlog is how many messages may wait for the Listener. What does not fit is dropped, noticed, and makes
// the cache suspect.
const backlog = 1024

// Evictor is a cache that can be told what it must not serve any more. A missed call costs freshness; a
// call too many costs a load.
type Evictor interface {
	Evict(rankcore.Change) // what the change names was loaded too early
	Suspect()              // anything may have changed
}

// Floors is a store that takes note of how far shards have been: one that shows a shard further back must know.
type Floors interface {
	Reached(rankcore.BoardID, rankcore.Reached)
}

// ListenerConfig says what a Listener hears and whom it tells.
type ListenerConfig struct {
	Conn       *nats.Conn
	Boards     []*rankcore.Board // others are ignored
	Evictor    Evictor
	Floors     Floors                // nil: the store's shards cannot go back
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: no metrics
}

// Listener hears broadcasts and beacons. Progress and Applied are safe for concurrent use, while Run runs
// and after.
type Listener struct {
	conn    *nats.Conn
	evictor Evictor
	floors  Floors
	log     *slog.Logger
	metrics *listenerMetrics
	boards  map[rankcore.BoardID]*view // fixed
	quiet   time.Duration              // silence longer than this is suspicious: most of the smallest freshness bound
	every   time.Duration              // between calls

	// Only Run touches these.
	sources sources
	heard   time.Time // the last message of a numbered source; zero: none yet
	silent  bool      // the silence since then has been noticed
	dropped int       // by NATS, as counted last
	calls   calls
}

// NewListener returns a Listener for the boards.
func NewListener(cfg ListenerConfig) *Listener {
	l := &Listener{
		conn:    cfg.Conn,
		evictor: cfg.Evictor,
		floors:  cfg.Floors,
		log:     cfg.Logger,
		metrics: newListenerMetrics(cfg.Registerer),
		boards:  make(map[rankcore.BoardID]*view, len(cfg.Boards)),
		sources: make(sources),
		calls:   calls{id: newID()},
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	bound := time.Minute
	for _, b := range cfg.Boards {
		l.boards[b.ID] = newView(b.Freshness)
		bound = min(bound, b.Freshness)
	}
	l.quiet, l.every = bound*4/5, max(min(bound/20, echoEvery), time.Millisecond)
	l.measureBoards(cfg.Registerer)
	return l
}

// Run listens until ctx ends, then unsubscribes and returns nil. It returns an error only if the
// subscription itself fails.
func (l *Listener) Run(ctx context.Context) error {
	// One channel for both subjects: it keeps the order in which a source sent, so a number out of turn is a gap.
	messages := make(chan *nats.Msg, backlog)
	var subs []*nats.Subscription
	for _, subject := range []string{beaconSubject, invalidatePrefix + "*"} {
		sub, err := l.conn.ChanSubscribe(subject, messages)
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection may be closed already
		subs = append(subs, sub)
	}
	call := time.NewTicker(l.every)
	defer call.Stop()
	reconnects := l.conn.StatusChanged(nats.CONNECTED)
	defer l.conn.RemoveStatusListener(reconnects)
	check := time.NewTicker(max(l.quiet/8, time.Millisecond))
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-messages:
			l.hear(m.Subject, m.Data, time.Now())
		case <-reconnects:
			l.suspect("reconnect")
		case <-call.C:
			// While NATS is away it does not get out, and nothing is heard that could answer it.
			_ = l.conn.Publish(echoSubject, l.calls.next(time.Now()))
		case now := <-check.C:
			l.checkDropped(subs)
			l.checkSilence(now)
		}
	}
}

func (l *Listener) hear(subject string, payload []byte, now time.Time) {
	if subject == beaconSubject {
		boards, n, sent, err := decodeBeacon(payload, l.calls.after)
		if err != nil {
			l.garbage(subject, err)
			return
		}
		if l.count(n, now) {
			l.metrics.heard.WithLabelValues("beacon").Inc()
			l.believe(n.Source, boards, sent)
		}
		return
	}
	view := l.boards[boardOf(subject)]
	c, n, err := decodeBroadcast(boardOf(subject), payload)
	switch {
	case err != nil:
		l.garbage(subject, err)
		return
	case view == nil:
		l.metrics.heard.WithLabelValues("unknown_board").Inc()
		l.count(n, now)
		return
	}
	l.metrics.heard.WithLabelValues("broadcast").Inc()
	inTurn := l.count(n, now)
	if n.Source == "" {
		c.To, c.Reached = rankcore.Position{}, nil // a hand knows no positions
	}
	if l.floors != nil {
		for _, r := range c.Reached {
			l.floors.Reached(c.Board, r) // before the eviction: what is read because of it has them
		}
	}
	l.evictor.Evict(c)
	if inTurn && n.Source != "" && !c.To.IsNone() {
		view.applied(n.Source, c.To) // after the eviction: who waits for it reads the new answer
	}
}

func (l *Listener) garbage(subject string, err error) {
	l.metrics.heard.WithLabelValues("garbage").Inc()
	l.log.Debug("not a message of ours", "subject", subject, "err", err)
}

// believe takes over what a beacon says that was sent after the given time. When it was is not known before it answers
// a call, nor when it was held up for long: then what it says of positions stays true, and the rest proves nothing.
func (l *Listener) believe(source string, boards []rankcore.Progress, sent time.Time) {
	for _, p := range boards {
		view := l.boards[p.Board]
		switch {
		case view == nil:
			l.metrics.heard.WithLabelValues("unknown_board").Inc()
		case !sent.IsZero():
			view.beacon(source, p, sent)
		default:
			view.oldBeacon(source, p)
		}
	}
}

// count takes note of a message's number, and reports whether it is newer than what was heard of its source.
// A hand-written message has no number and is always newer.
func (l *Listener) count(n number, now time.Time) bool {
	if n.Source == "" {
		return true
	}
	l.checkSilence(now)
	if l.silent {
		l.silent = false
		l.suspect("silence")
	}
	l.heard = now
	missed, inTurn := l.sources.heard(n, now)
	switch {
	case missed == unknown:
		l.suspect("late_start")
	case missed > 0:
		l.metrics.missed.Add(float64(missed))
		l.suspect("gap")
	}
	return inTurn
}

func (l *Listener) checkSilence(now time.Time) {
	if !l.silent && !l.heard.IsZero() && now.Sub(l.heard) > l.quiet {
		l.silent = true
		l.suspect("silence")
	}
}

// checkDropped sees what NATS dropped because the backlog was full. Its own callback comes once for many.
func (l *Listener) checkDropped(subs []*nats.Subscription) {
	dropped := 0
	for _, sub := range subs {
		n, _ := sub.Dropped() // 0 once the connection is closed
		dropped += n
	}
	if dropped > l.dropped {
		l.suspect("dropped")
	}
	l.dropped = dropped
}

func (l *Listener) suspect(why string) {
	l.metrics.suspect.WithLabelValues(why).Inc()
	l.log.Info("the cache is suspect", "why", why)
	l.evictor.Suspect()
}
