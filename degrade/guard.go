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
	DefaultKeep        = 24 * time.Hour
	DefaultPages       = 256
	DefaultArounds     = 4096
	DefaultStandings   = 20_000
)

// Config says how a Guard behaves. Zero values mean the defaults.
type Config struct {
	Source      rankcore.Reader       // the core
	Timeout     time.Duration         // no question to the core is waited for longer
	Concurrency int                   // questions to the core at one time, over all boards
	Keep        time.Duration         // a remembered answer older than this is not shown any more
	Pages       int                   // remembered pages; the least recently used are forgotten first
	Arounds     int                   // remembered pages around a user, likewise
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
	if c.Keep <= 0 {
		c.Keep = DefaultKeep
	}
	if c.Pages <= 0 {
		c.Pages = DefaultPages
	}
	if c.Arounds <= 0 {
		c.Arounds = DefaultArounds
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

	pages     *memory[rankcore.Page]
	arounds   *memory[rankcore.Page]
	standings *memory[rankcore.Standing]

	// mu guards breakers, one for each board asked about. Boards are few and configured, so it only grows to their number.
	mu       sync.RWMutex
	breakers map[rankcore.BoardID]*breaker
}

// NewGuard returns a Guard around cfg.Source.
func NewGuard(cfg Config) *Guard {
	cfg.fill()
	return &Guard{
		source:    cfg.Source,
		timeout:   cfg.Timeout,
		gate:      newGate(cfg.Concurrency, cfg.Timeout/10),
		log:       cfg.Logger,
		metrics:   newMetrics(cfg.Registerer),
		pages:     newMemory[rankcore.Page](cfg.Pages, cfg.Keep),
		arounds:   newMemory[rankcore.Page](cfg.Arounds, cfg.Keep),
		standings: newMemory[rankcore.Standing](cfg.Standings, cfg.Keep),
		breakers:  make(map[rankcore.BoardID]*breaker),
	}
}

// Top answers from the core, or with the last page it gave for this query, or with an updating page.
func (g *Guard) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	k := question{board: q.Board.ID, season: q.Season, offset: q.Offset, limit: q.Limit}
	page, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Page, error) {
		return g.source.Top(ctx, q)
	})
	return g.orLastPage(ctx, g.pages, k, q.Season, page, err)
}

// Rows answers from the core. Around a user it has the last page to fall back on, as Rank has; a page of a walk has
// none: it would not fit its neighbours, and a walk through a board would drive everything else out of memory.
// Then, or without a last page, it is updating.
func (g *Guard) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	page, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Page, error) {
		return g.source.Rows(ctx, q)
	})
	if q.Around == "" {
		return g.orLastPage(ctx, nil, question{}, q.Season, page, err)
	}
	return g.orLastPage(ctx, g.arounds, question{board: q.Board.ID, season: q.Season, user: q.Around, limit: q.Limit}, q.Season, page, err)
}

// orLastPage is the core's page, which memory keeps, or what it kept, or an updating page.
func (g *Guard) orLastPage(ctx context.Context, m *memory[rankcore.Page], k question, season rankcore.SeasonID, page *rankcore.Page, err error) (*rankcore.Page, error) {
	switch {
	case err == nil:
		if m != nil {
			m.keep(k, page, page.Meta)
		}
		return page, nil
	case k.user != "" && errors.Is(err, rankcore.ErrNotRanked):
		m.forget(k) // a removed user must not come back in the next outage
		return nil, rankcore.ErrNotRanked
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	reason := reasonOf(err)
	if m != nil {
		if last, ok := m.last(k); ok {
			stale := *last
			stale.Status, stale.Reason = rankcore.Stale, reason
			g.metrics.stale.Inc()
			return &stale, nil
		}
	}
	g.metrics.updating.Inc()
	return &rankcore.Page{Meta: updating(season, reason)}, nil
}

// Rank answers from the core, or with the last standing it gave for this query, or with an updating one.
// A user the core has never told about is updating while the core is sick: never a false ErrNotRanked.
func (g *Guard) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	k := question{board: q.Board.ID, season: q.Season, user: q.User, precision: q.Precision}
	standing, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Standing, error) {
		return g.source.Rank(ctx, q)
	})
	switch {
	case err == nil:
		g.standings.keep(k, standing, standing.Meta)
		return standing, nil
	case errors.Is(err, rankcore.ErrNotRanked):
		g.standings.forget(k) // a removed user must not come back in the next outage
		return nil, rankcore.ErrNotRanked
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	reason := reasonOf(err)
	if last, ok := g.standings.last(k); ok {
		stale := *last
		stale.Status, stale.Reason = rankcore.Stale, reason
		g.metrics.stale.Inc()
		return &stale, nil
	}
	g.metrics.updating.Inc()
	return &rankcore.Standing{Meta: updating(q.Season, reason), User: q.User}, nil
}

func updating(season rankcore.SeasonID, reason rankcore.Reason) rankcore.Meta {
	return rankcore.Meta{Season: season, Status: rankcore.Updating, Reason: reason, AsOf: time.Now()}
}
