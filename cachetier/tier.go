package cachetier

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

const (
	// DefaultMaxBytes bounds the cache when the configuration does not.
	DefaultMaxBytes = 128 << 20

	// DefaultLoadTimeout is well above the Guard's deadline: the Guard answers, the Tier's only catches what hangs.
	DefaultLoadTimeout = time.Second

	toldOf = 32

	absentShare = 8 // one part in so many of the bytes is for users that are not ranked
)

// Progress tells how far the applier of a board is, and when that was heard, by the local clock. It is
// called for every answer, so it must be quick. False: nothing was ever heard.
type Progress interface {
	Progress(rankcore.BoardID) (p rankcore.Progress, heard time.Time, ok bool)
}

// Config says what a Tier caches.
type Config struct {
	Source      rankcore.Reader       // where answers come from: the Guard
	Progress    Progress              // without it nothing could be called fresh
	MaxBytes    int64                 // of answers and their keys, roughly as they lie in memory. Zero: DefaultMaxBytes
	LoadTimeout time.Duration         // a load answers within this or has failed. Zero: DefaultLoadTimeout
	Logger      *slog.Logger          // nil: none
	Registerer  prometheus.Registerer // nil: no metrics
}

// Tier is a Reader that answers from memory where it may. Safe for concurrent use.
type Tier struct {
	source   rankcore.Reader
	progress Progress
	timeout  time.Duration // of a load
	log      *slog.Logger
	metrics  *metrics

	answers *otter.Cache[key, *entry] // pages and standings
	absent  *otter.Cache[key, *entry] // users that are not ranked, bounded apart so that inventing names evicts nobody

	// clock gives every load and every eviction its place in one order. It is not time.
	clock     atomic.Uint64
	suspect   atomic.Uint64                                     // loads up to here are not served
	suspected atomic.Int64                                      // when that was last raised; set before; Unix nanoseconds
	boards    atomic.Pointer[map[rankcore.BoardID]*boardStamps] // replaced, never changed
	adding    sync.Mutex                                        // held while boards is replaced

	seed    maphash.Seed
	flights [flightShards]flights

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	loading sync.WaitGroup
}

// New returns an empty Tier. It holds a goroutine of otter's until Close.
func New(cfg Config) (*Tier, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	t := &Tier{
		source: cfg.Source, progress: cfg.Progress, timeout: cfg.LoadTimeout, log: cfg.Logger,
		metrics: newMetrics(), seed: maphash.MakeSeed(),
	}
	t.boards.Store(&map[rankcore.BoardID]*boardStamps{})
	for i := range t.flights {
		t.flights[i].byKey = make(map[key]*flight)
	}
	var err error
	if t.answers, err = newCache(cfg.MaxBytes-cfg.MaxBytes/absentShare, t.metrics); err != nil {
		return nil, err
	}
	if t.absent, err = newCache(cfg.MaxBytes/absentShare, t.metrics); err != nil {
		t.answers.StopAllGoroutines()
		return nil, err
	}
	t.ctx, t.end = context.WithCancel(context.Background())
	t.metrics.register(cfg.Registerer, t)
	return t, nil
}

func (c *Config) fill() error {
	if c.Source == nil || c.Progress == nil {
		return errors.New("cachetier: a source and a progress are needed")
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.MaxBytes < absentShare {
		return errors.New("cachetier: max bytes: too small")
	}
	if c.LoadTimeout <= 0 {
		c.LoadTimeout = DefaultLoadTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// newCache is bounded by bytes, and each entry's life by the entry itself.
func newCache(bytes int64, m *metrics) (*otter.Cache[key, *entry], error) {
	return otter.New(&otter.Options[key, *entry]{
		MaximumWeight:    uint64(bytes),
		Weigher:          weigh,
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[key, *entry]) time.Duration { return e.Value.left() }),
		StatsRecorder:    m,
	})
}

// Close ends the loads under way and waits for them. Nothing may be asked afterwards.
func (t *Tier) Close() {
	t.end()
	t.loading.Wait()
	t.answers.StopAllGoroutines()
	t.absent.StopAllGoroutines()
}

func (t *Tier) bytes() float64 {
	return float64(t.answers.WeightedSize() + t.absent.WeightedSize())
}

// Top answers from memory within the board's freshness bound, else from the source.
func (t *Tier) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	e, err := t.get(ctx, t.askTop(q))
	if err != nil {
		return nil, err
	}
	return e.page, nil
}

// Rank answers from memory within the board's freshness bound, else from the source. An exact rank always
// comes from the source: it is true for some instant between request and reply.
func (t *Tier) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	e, err := t.get(ctx, t.askRank(q))
	if err != nil {
		return nil, err
	}
	if e.standing == nil {
		meta, err := t.notRanked(q.Season, e.doubt)
		if err != nil {
			return nil, err
		}
		return &rankcore.Standing{Meta: meta, User: q.User}, nil
	}
	return e.standing, nil
}

// notRanked is ErrNotRanked, unless the shards were not known to be current: then the user may well be ranked
// in what they have yet to be fed.
func (t *Tier) notRanked(season rankcore.SeasonID, doubt rankcore.Reason) (rankcore.Meta, error) {
	if doubt == "" {
		return rankcore.Meta{}, rankcore.ErrNotRanked
	}
	t.metrics.answered(rankcore.Updating)
	return rankcore.Meta{Season: season, Status: rankcore.Updating, Reason: doubt, AsOf: time.Now()}, nil
}

// get is the entry that answers a: from memory, or from a load that began no earlier than it must.
func (t *Tier) get(ctx context.Context, a ask) (*entry, error) {
	now := time.Now()
	if a.since.After(now) { // no load can be that late
		a.since = time.Time{}
	}
	if e := t.cached(a, now); e != nil {
		t.metrics.hits[a.kind()].Inc()
		t.refresh(a, e, now)
		t.gaveEntry(a, e, now)
		return e, nil
	}
	t.metrics.misses[a.kind()].Inc()
	var after uint64
	if a.exact() {
		after = t.clock.Add(1)
	}
	for try := 1; ; try++ {
		f := t.fly(a, after)
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// An answer overtaken by an eviction is asked for again, but not without end: on a board that is
		// evicted all the time it is given as it is, true at an instant after this request began or shared
		// with one that waited then. See TestEvictedAllTheTime.
		if f.err != nil {
			return nil, f.err
		}
		if f.began > t.barrier(a) && f.entry.timely(now) || try == maxTries {
			t.gaveEntry(a, f.entry, time.Now())
			return f.entry, nil
		}
	}
}

// cached is the entry in memory, if it may be served now.
func (t *Tier) cached(a ask, now time.Time) *entry {
	if a.exact() {
		return nil
	}
	if a.key.user == "" {
		return t.cachedTop(a, now)
	}
	e, ok := find(t.answers, a.key)
	if ok && t.serves(e, a, now) {
		return e
	}
	if e, ok = find(t.absent, a.key); ok && t.serves(e, a, now) {
		return e
	}
	return nil
}

// cachedTop is cached for the top. Of a board's tops the one stored last is at hand without a look. Every so often otter
// is asked all the same, so that it learns what is asked for most.
func (t *Tier) cachedTop(a ask, now time.Time) *entry {
	if h := a.stamps.top.Load(); h != nil && h.key == a.key && rand.Uint32()%toldOf != 0 {
		if t.serves(h.entry, a, now) {
			return h.entry
		}
		return nil // what otter has is the same
	}
	if e, ok := find(t.answers, a.key); ok && t.serves(e, a, now) {
		return e
	}
	return nil
}

// atHand is an entry and its key.
type atHand struct {
	key   key
	entry *entry
}

// find looks into a cache. One look in toldOf is told to otter, by chance: it learns as well what is asked for most, and
// its bookkeeping costs as much as the look.
func find(cache *otter.Cache[key, *entry], k key) (*entry, bool) {
	if rand.Uint32()%toldOf == 0 {
		return cache.GetIfPresent(k)
	}
	found, ok := cache.GetEntryQuietly(k)
	return found.Value, ok
}

// serves reports whether e may still be given. One that was doubted goes as soon as nothing is doubted any more.
func (t *Tier) serves(e *entry, a ask, now time.Time) bool {
	if !now.Before(e.until) || e.began <= t.barrier(a) || !e.at.After(a.since) {
		return false
	}
	if e.doubt == "" {
		return true
	}
	_, doubt := t.current(a.key.board, now)
	return doubt != ""
}
