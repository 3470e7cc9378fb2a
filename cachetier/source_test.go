package cachetier

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rankgate/rankcore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var power = &rankcore.Board{ID: "power", Shards: 1, Freshness: time.Second}

// core is a source of one number: the score of everybody, which a test changes. Its loads can be held.
type core struct {
	score  atomic.Int64
	absent sync.Map // users that are not ranked
	status atomic.Value
	loads  atomic.Int64
	asOf   time.Time // of its answers; zero: now
	hold   atomic.Pointer[hold]
}

// hold keeps loads, after they have read, until released.
type hold struct{ read, release chan struct{} }

func newHold() *hold { return &hold{make(chan struct{}, 1), make(chan struct{})} }

func newCore() *core {
	c := &core{}
	c.status.Store(rankcore.Fresh)
	return c
}

func (c *core) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	page := &rankcore.Page{Meta: c.meta(q.Season)}
	for i := range q.Limit {
		user := rankcore.UserID(fmt.Sprintf("user%d", q.Offset+i))
		page.Entries = append(page.Entries, rankcore.Entry{Rank: 1, User: user, Score: rankcore.Score(c.score.Load())})
	}
	return page, c.linger(ctx)
}

func (c *core) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	if _, absent := c.absent.Load(q.User); absent {
		c.loads.Add(1)
		return nil, rankcore.ErrNotRanked
	}
	s := &rankcore.Standing{Meta: c.meta(q.Season), User: q.User, Rank: 1, Score: rankcore.Score(c.score.Load()), Precision: rankcore.Exact}
	return s, c.linger(ctx)
}

// Rows are around a user, or behind another, who are all alike.
func (c *core) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	if _, absent := c.absent.Load(q.Around); absent {
		c.loads.Add(1)
		return nil, rankcore.ErrNotRanked
	}
	page := &rankcore.Page{Meta: c.meta(q.Season)}
	for i := range q.Limit {
		user := rankcore.UserID(fmt.Sprintf("%s%s%d", q.Around, q.After.User, i))
		page.Entries = append(page.Entries, rankcore.Entry{Rank: 1, User: user, Score: rankcore.Score(c.score.Load())})
	}
	return page, c.linger(ctx)
}

func (c *core) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	batch := &rankcore.Standings{Meta: c.meta(q.Season), Users: make([]*rankcore.Standing, len(q.Users))}
	for i, u := range q.Users {
		if _, absent := c.absent.Load(u); !absent {
			batch.Users[i] = &rankcore.Standing{Meta: batch.Meta, User: u, Rank: 1, Score: rankcore.Score(c.score.Load()), Precision: rankcore.Exact}
		}
	}
	return batch, c.linger(ctx)
}

func (c *core) meta(season rankcore.SeasonID) rankcore.Meta {
	c.loads.Add(1)
	status, _ := c.status.Load().(rankcore.Status)
	meta := rankcore.Meta{Season: season, Status: status, AsOf: time.Now()}
	if !c.asOf.IsZero() {
		meta.AsOf = c.asOf
	}
	if status != rankcore.Fresh {
		meta.Reason = rankcore.CoreDown
	}
	return meta
}

func (c *core) linger(ctx context.Context) error {
	h := c.hold.Load()
	if h == nil {
		return nil
	}
	h.read <- struct{}{}
	select {
	case <-h.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// applier tells a progress that a test sets; at first, that all is well for ever.
type applier struct {
	tell atomic.Pointer[func(now time.Time) (rankcore.Progress, time.Time, bool)]
}

func (a *applier) Progress(id rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
	now := time.Now()
	if tell := a.tell.Load(); tell != nil {
		return (*tell)(now)
	}
	return rankcore.Progress{Board: id, CaughtUp: now}, now, true
}

func (a *applier) says(tell func(now time.Time) (rankcore.Progress, time.Time, bool)) {
	a.tell.Store(&tell)
}

func newTier(t *testing.T, source rankcore.Reader, change ...func(*Config)) *Tier {
	t.Helper()
	cfg := Config{Source: source, Progress: &applier{}}
	for _, c := range change {
		c(&cfg)
	}
	tier, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tier.Close)
	return tier
}

func topOf(t *testing.T, tier *Tier) *rankcore.Page {
	t.Helper()
	page, err := tier.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func rankOf(t *testing.T, tier *Tier, user rankcore.UserID) *rankcore.Standing {
	t.Helper()
	standing, err := tier.Rank(t.Context(), rankcore.RankQuery{Board: power, Season: "all", User: user})
	if err != nil {
		t.Fatal(err)
	}
	return standing
}
