package ingest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"rankgate/rankcore"
)

// The log's defaults.
const (
	DefaultRetention = 168 * time.Hour
	DefaultMaxBytes  = 10_000_000_000
)

// LogConfig describes the log.
type LogConfig struct {
	Conn       *nats.Conn
	Boards     []*rankcore.Board // every board that is written or applied here
	Retention  time.Duration     // how long messages are kept; 0: DefaultRetention
	MaxBytes   int64             // what the stream may take on disk; 0: DefaultMaxBytes
	Replicas   int               // 0: 1
	Durability Durability        // of an embedded server: what it does; an external one is asked, see Monitors
	Monitors   []string          // monitoring URLs of external servers, to learn whether they sync; empty: port 8222 of the connected one
	Logger     *slog.Logger      // nil: silent
	Registerer prometheus.Registerer
}

// Log is the durable log of every board's operations. Safe for concurrent use.
type Log struct {
	cfg        LogConfig
	stream     stream
	metrics    logMetrics
	committers map[rankcore.BoardID]*committer
	reference  reference
	trim       trimmer
	durability *durability
	strayed    time.Time // when messages to unknown boards were last looked for; upkeep's

	ready     chan struct{} // closed once the streams stand for the first time
	readyOnce sync.Once
	trouble   atomic.Pointer[error] // what the last look at the stream failed with; nil: nothing
	seen      atomic.Pointer[view]
}

// OpenLog returns the log. It asks nothing of the server: Run does, also when the server comes later.
func OpenLog(cfg LogConfig) (*Log, error) {
	if cfg.Retention <= 0 {
		cfg.Retention = DefaultRetention
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.Replicas <= 0 {
		cfg.Replicas = 1
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(cfg.Conn)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	l := &Log{
		cfg:        cfg,
		stream:     stream{conn: cfg.Conn, js: js},
		metrics:    newLogMetrics(cfg.Registerer),
		committers: make(map[rankcore.BoardID]*committer, len(cfg.Boards)),
		ready:      make(chan struct{}),
	}
	l.reference.log = l
	l.trim.log = l
	l.durability = newDurability(l)
	for _, b := range cfg.Boards {
		l.committers[b.ID] = newCommitter(l, b)
	}
	return l, nil
}

// upkeepEvery is how often the stream and the reference are looked at.
const upkeepEvery = time.Second

// Run creates the streams when they are missing, commits appends, checks every second that the log still has
// what it confirmed, and drops what is old and applied. It ends with ctx; appends waiting then are told that
// the log is unavailable.
func (l *Log) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range l.committers {
		g.Go(func() error { c.run(ctx); return nil })
	}
	g.Go(func() error { l.upkeep(ctx); return nil })
	return g.Wait()
}

func (l *Log) upkeep(ctx context.Context) {
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	for {
		err := l.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if old := l.trouble.Load(); err != nil && (old == nil || (*old).Error() != err.Error()) {
			l.cfg.Logger.Warn("log is not available", "err", err)
		} else if err == nil && old != nil {
			l.cfg.Logger.Info("log is available again")
		}
		if err != nil {
			l.trouble.Store(&err)
		} else {
			l.trouble.Store(nil)
		}
		var again <-chan time.Time
		if err != nil {
			again = time.After(upkeepEvery / 8)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-again:
		}
	}
}

// look is one round of upkeep.
func (l *Log) look(ctx context.Context) error {
	if !l.cfg.Conn.IsConnected() { // asking would only tell that nothing more fits into the client's buffer
		return fmt.Errorf("not connected to the log's NATS server: %w", cmp.Or(l.cfg.Conn.LastError(), nats.ErrNoServers))
	}
	v, err := l.ensure(ctx)
	if err != nil {
		return err
	}
	l.seen.Store(&v)
	l.metrics.bytes.Set(float64(v.bytes))
	l.durability.look(ctx)
	l.readyOnce.Do(func() { close(l.ready) })
	if err := l.reference.check(ctx); err != nil {
		return err
	}
	if err := l.strays(ctx, v); err != nil {
		return err
	}
	return l.trim.trim(ctx, v)
}

// Ready is closed once the streams have been there.
func (l *Log) Ready() <-chan struct{} { return l.ready }

// WritePosition names a write for the reads that must include it.
type WritePosition struct {
	Seq   uint64            // the message's sequence
	Since int64             // when this log was last verified to be the one before, Unix milliseconds of the server
	Name  rankcore.Position // Seq with the earliest time it can have: a shard at a position with Seq and Time not below these includes the write
}

// String is "<seq>-<ms>".
func (p WritePosition) String() string {
	b := strconv.AppendUint(make([]byte, 0, 34), p.Seq, 10)
	return string(strconv.AppendInt(append(b, '-'), p.Since, 10))
}

// Health is what the log is doing now.
type Health struct {
	Reachable  bool   // appends can be expected to succeed
	Full       bool   // the last append was refused for want of room
	Detail     string // what is wrong, for the operator
	Durability Durability
	Bytes      uint64 // the stream's size when it was last seen
	MaxBytes   int64
}

// Health reports the log's state from what is known; it asks nobody.
func (l *Log) Health() Health {
	h := Health{Durability: *l.durability.known.Load(), MaxBytes: l.cfg.MaxBytes}
	if v := l.seen.Load(); v != nil {
		h.Bytes = v.bytes
		h.Reachable = true
	}
	failing := false
	for _, c := range l.committers {
		h.Full = h.Full || c.full.Load()
		failing = failing || c.failing()
	}
	switch trouble := l.trouble.Load(); {
	case !l.cfg.Conn.IsConnected(): // first: what is asked meanwhile fails with other words
		h.Reachable, h.Detail = false, "not connected"
	case trouble != nil:
		h.Reachable, h.Detail = false, (*trouble).Error()
	case h.Full:
		h.Detail = "full: nothing can be appended until old messages are dropped or max_bytes is raised"
	case failing:
		h.Detail = "reachable, but the last append failed"
	}
	return h
}
