package aggregate

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// askWithin bounds how long the core is waited for: one reading apart from the last, and the reading. What is left of a
// reader's patience is for the shards.
const askWithin = 150 * time.Millisecond

// ClientConfig describes a client.
type ClientConfig struct {
	Conn       *nats.Conn
	Boards     []*rankcore.Board
	Shards     string                // names the shards, as at the server
	Source     rankcore.Reader       // the shards: for everything else, and when the core does not answer
	Progress   Progress              // nil: nothing is known, and rows are called fresh only for whom they were read
	Every      time.Duration         // as at the server; 0: DefaultEvery
	Registerer prometheus.Registerer // nil: no metrics
	Logger     *slog.Logger          // nil: silent
}

// Client is a Reader that takes the first rows of a board from the core that applies it, and everything else from its
// source; those rows as well, though seldom, when the core does not answer, or has only older ones. Safe for concurrent use.
type Client struct {
	rankcore.Reader
	conn     *nats.Conn
	id       string // of this process
	shards   string
	progress Progress
	every    time.Duration
	log      *slog.Logger
	metrics  *clientMetrics
	boards   map[rankcore.BoardID]*asked // fixed
}

// asked is what a client knows of one board.
type asked struct {
	rest    rest
	sharing atomic.Int64 // gateways that ask the core, this one included, as it last told; 0: it never did

	mu   sync.Mutex // guards seen and own
	seen map[rankcore.SeasonID]sighting
	own  map[rankcore.SeasonID]*own
}

// sighting is what was last answered of a season here.
type sighting struct {
	version rankcore.Position
	asOf    time.Time
	own     bool // by reading the shards
}

// NewClient returns a client.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Every <= 0 {
		cfg.Every = DefaultEvery
	}
	c := &Client{
		Reader: cfg.Source, conn: cfg.Conn, id: rand.Text(), shards: cfg.Shards, progress: cfg.Progress, every: cfg.Every,
		log: cfg.Logger, metrics: newClientMetrics(cfg.Registerer),
		boards: make(map[rankcore.BoardID]*asked, len(cfg.Boards)),
	}
	for _, b := range cfg.Boards {
		c.boards[b.ID] = &asked{seen: map[rankcore.SeasonID]sighting{}, own: map[rankcore.SeasonID]*own{}}
	}
	return c
}

// Top answers from the core's rows, or from the source.
func (c *Client) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	began := time.Now()
	b := c.boards[q.Board.ID]
	switch {
	case b == nil || q.Offset+max(q.Limit, 0) > q.Board.Head:
		return c.Reader.Top(ctx, q)
	case b.rest.resting(began):
		c.metrics.resting.Inc()
	default:
		page, err := c.ask(ctx, b, q, began)
		if err == nil {
			return page, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.log.Debug("the core does not answer; the shards are read", "board", q.Board.ID, "because", err)
	}
	return c.own(ctx, b, q)
}

// errOlder: the core's rows are older than what may be answered, or than what was.
var errOlder = errors.New("the core has older rows")

func (c *Client) ask(ctx context.Context, b *asked, q rankcore.TopQuery, began time.Time) (*rankcore.Page, error) {
	rows := 0
	if q.Limit > 0 {
		rows = q.Offset + q.Limit
	}
	r := request{V: version, Asker: c.id, Season: string(q.Season), Rows: rows}
	if since := b.since(q); !since.IsZero() {
		// The core counts back from when it is asked, which is later than now: what it has is then no older than since.
		within := max(began.Sub(since), 0).Nanoseconds()
		r.WithinNS = &within
	}
	limited, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	m, err := c.conn.RequestWithContext(limited, headSubject(c.shards, q.Board.ID), encodeRequest(r))
	switch {
	case err == nil:
	case errors.Is(err, nats.ErrNoResponders):
		c.metrics.unheard.Inc()
		b.rest.unanswered(false, 0)
		return nil, err
	default:
		c.metrics.late.Inc()
		if ctx.Err() == nil { // or it was the asker who left
			b.rest.unanswered(true, c.share(b))
		}
		return nil, err
	}
	b.rest.answered()
	h, err := decodeHead(m.Data)
	if err != nil {
		c.metrics.refused.Inc()
		return nil, err
	}
	b.sharing.Store(h.sharing)
	// The rows were true at asOf or later, by as much as question and answer were on their way.
	asOf, now := began.Add(-h.age), time.Now()
	way := max(now.Sub(began)-max(h.took, 0), 0)
	if asOf.After(now) { // a garbled age must not make an answer that lasts
		asOf = now
	}
	asOf, ok := b.admit(q.Season, h.version, asOf, asOf.Add(way))
	if !ok || h.behind > q.Board.Freshness {
		c.metrics.older.Inc()
		return nil, errOlder
	}
	c.metrics.answered.Inc()
	page := &rankcore.Page{Meta: rankcore.Meta{
		Season: q.Season, Status: rankcore.Fresh, AsOf: asOf, Current: began.Add(-h.behind), Version: h.version, Total: h.total,
	}}
	if q.Limit > 0 && q.Offset < len(h.entries) {
		page.Entries = h.entries[q.Offset:]
	}
	return page, nil
}

// since is when the rows must have been read at the earliest: after what the question asks for, and not before what
// was read here from the shards.
func (b *asked) since(q rankcore.TopQuery) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seen := b.seen[q.Season]; seen.own && seen.asOf.After(q.Since) {
		return seen.asOf
	}
	return q.Since
}

// saw takes note of what the shards showed at asOf. They alone may show an earlier version than
// was seen before: when they have gone back themselves.
func (b *asked) saw(season rankcore.SeasonID, v rankcore.Position, asOf time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if asOf.After(b.seen[season].asOf) {
		b.keep(season, sighting{v, asOf, true})
	}
}

// admit takes note of an answer of the core whose rows were read between least and most, and returns when they are
// said to be true: no answer is of an earlier moment than the one before. It is false when they are older, or of an
// earlier version.
func (b *asked) admit(season rankcore.SeasonID, v rankcore.Position, least, most time.Time) (asOf time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.seen[season]
	if v.Time < seen.version.Time || v.Time == seen.version.Time && v.Seq < seen.version.Seq || most.Before(seen.asOf) {
		return time.Time{}, false
	}
	asOf = least
	if asOf.Before(seen.asOf) {
		asOf = seen.asOf
	}
	b.keep(season, sighting{v, asOf, false})
	return asOf, true
}

// maxSeen bounds the seasons of a board that are remembered.
const maxSeen = 64

func (b *asked) keep(season rankcore.SeasonID, s sighting) {
	if _, known := b.seen[season]; !known && len(b.seen) >= maxSeen {
		clear(b.seen)
	}
	b.seen[season] = s
}
