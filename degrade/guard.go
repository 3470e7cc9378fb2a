package degrade

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// Defaults of Config.
const (
	DefaultTimeout     = 250 * time.Millisecond
	DefaultConcurrency = 512
	DefaultPages       = 256
	DefaultArounds     = 4096
	DefaultWalks       = 64
	DefaultStandings   = 20_000
)

// Config says how a Guard behaves. Zero values mean the defaults.
type Config struct {
	Source      rankcore.Reader       // the core
	Timeout     time.Duration         // no question to the core is waited for longer
	Concurrency int                   // questions to the core at one time at most, over all boards; fewer while it is slow
	Snapshots   *Snapshots            // what to fall back on before anything was asked; nil: nothing
	Pages       int                   // remembered pages; the least recently used are forgotten first
	Arounds     int                   // remembered pages around a user, likewise
	Walks       int                   // remembered pages of walks, likewise
	Standings   int                   // remembered standings, likewise
	Logger      *slog.Logger          // nil: none
	Registerer  prometheus.Registerer // nil: no metrics
}

func (c *Config) fill() {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.Pages <= 0 {
		c.Pages = DefaultPages
	}
	if c.Arounds <= 0 {
		c.Arounds = DefaultArounds
	}
	if c.Walks <= 0 {
		c.Walks = DefaultWalks
	}
	if c.Standings <= 0 {
		c.Standings = DefaultStandings
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Guard is a Reader that always has an answer. It fails only with ErrNotRanked, which the core said itself,
// or with the error of the caller's own context. Everything else is an answer that says what it is:
// stale with a reason, or updating. Safe for concurrent use.
type Guard struct {
	source  rankcore.Reader
	timeout time.Duration
	gate    *gate
	log     *slog.Logger
	metrics *metrics

	snapshots *Snapshots
	pages     *memory[rankcore.Page]
	arounds   *memory[rankcore.Page]
	walks     *memory[rankcore.Page]
	walked    *memory[rankcore.Meta] // of many more pages of walks than are remembered
	standings *memory[rankcore.Standing]

	// mu guards breakers, one for each board asked about. Boards are few and configured, so it only grows to their number.
	mu       sync.RWMutex
	breakers map[rankcore.BoardID]*breaker
}

// NewGuard returns a Guard around cfg.Source.
func NewGuard(cfg Config) *Guard {
	cfg.fill()
	gate := newGate(cfg.Concurrency, cfg.Timeout/10, cfg.Timeout/5)
	g := &Guard{
		source:    cfg.Source,
		timeout:   cfg.Timeout,
		gate:      gate,
		log:       cfg.Logger,
		metrics:   newMetrics(cfg.Registerer, gate.now),
		snapshots: cfg.Snapshots,
		pages:     newMemory[rankcore.Page](cfg.Pages),
		arounds:   newMemory[rankcore.Page](cfg.Arounds),
		walks:     newMemory[rankcore.Page](cfg.Walks),
		walked:    newMemory[rankcore.Meta](cfg.Arounds),
		standings: newMemory[rankcore.Standing](cfg.Standings),
		breakers:  make(map[rankcore.BoardID]*breaker),
	}
	g.arounds.needed, g.standings.needed = g.snapshots.shows, g.snapshots.shows
	return g
}

// Top answers from the core, or with the last page it gave for this query or the snapshot's, or with an updating one.
// A partial page of the core's is shown where it is at least as new as those.
func (g *Guard) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	k := question{board: q.Board.ID, season: q.Season, offset: q.Offset, limit: q.Limit}
	page, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Page, error) {
		return g.source.Top(ctx, q)
	})
	switch {
	case err == nil && page.Status == rankcore.Partial:
		last, _ := g.pages.last(k, maxAge(q.Board))
		g.pages.keep(k, page, page.Meta)
		return settled(g, page, last, g.snapshots.top(q), metaOfPage), nil
	case err == nil:
		g.pages.keep(k, page, page.Meta)
		return page, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return g.olderPage(q.Board, g.pages, k, g.snapshots.top(q), reasonOf(err)), nil
}

// olderPage is the page that memory or the snapshot has, or an updating one.
func (g *Guard) olderPage(b *rankcore.Board, m *memory[rankcore.Page], k question, snapshot *rankcore.Page, why rankcore.Reason) *rankcore.Page {
	last, _ := m.last(k, maxAge(b))
	if page := older(g, last, snapshot, metaOfPage, why); page != nil {
		return page
	}
	return &rankcore.Page{Meta: updating(k.season, why)}
}

// Rank answers from the core, or with the last standing it gave for this query or the snapshot's, or with an
// updating one. A user the core has never told about is updating while the core is sick: never a false ErrNotRanked.
func (g *Guard) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	k := question{board: q.Board.ID, season: q.Season, user: q.User, precision: q.Precision}
	standing, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Standing, error) {
		return g.source.Rank(ctx, q)
	})
	switch {
	case err == nil && standing.Status == rankcore.Partial:
		last, _ := g.standings.last(k, maxAge(q.Board))
		g.standings.keep(k, standing, standing.Meta)
		return settled(g, standing, last, g.snapshots.rank(q), metaOfStanding), nil
	case err == nil:
		g.standings.keep(k, standing, standing.Meta)
		if last, ok := g.standings.last(k, maxAge(q.Board)); ok && stillTrue(last, standing) {
			return last, nil
		}
		return standing, nil
	case errors.Is(err, rankcore.ErrNotRanked):
		g.standings.forget(k) // a removed user must not come back in the next outage
		g.snapshots.left(q.Board, q.Season, q.User)
		return nil, rankcore.ErrNotRanked
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	why := reasonOf(err)
	last, _ := g.standings.last(k, maxAge(q.Board))
	if shown := older(g, last, g.snapshots.rank(q), metaOfStanding, why); shown != nil {
		return shown, nil
	}
	return &rankcore.Standing{Meta: updating(q.Season, why), User: q.User}, nil
}

// stillTrue reports whether the last answer was true later than the core's new one, of the same version of the season. An
// estimate rests on counts that were read a while ago; after an exact rank it would turn as_of back, and knows less.
func stillTrue(last, now *rankcore.Standing) bool {
	return now.Status == rankcore.Fresh && last.AsOf.After(now.AsOf) && last.Version == now.Version && last.Score == now.Score
}

func updating(season rankcore.SeasonID, reason rankcore.Reason) rankcore.Meta {
	return rankcore.Meta{Season: season, Status: rankcore.Updating, Reason: reason, AsOf: time.Now()}
}
