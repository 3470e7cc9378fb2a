package degrade

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

var board = &rankcore.Board{ID: "power", Shards: 1, Freshness: time.Second}

// scripted is a core that answers as its functions say.
type scripted struct {
	top   func(context.Context, rankcore.TopQuery) (*rankcore.Page, error)
	rank  func(context.Context, rankcore.RankQuery) (*rankcore.Standing, error)
	rows  func(context.Context, rankcore.RowsQuery) (*rankcore.Page, error)
	ranks func(context.Context, rankcore.RanksQuery) (*rankcore.Standings, error)
	asked atomic.Int64
}

func (s *scripted) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	s.asked.Add(1)
	return s.top(ctx, q)
}

func (s *scripted) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	s.asked.Add(1)
	return s.rank(ctx, q)
}

func (s *scripted) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	s.asked.Add(1)
	return s.rows(ctx, q)
}

func (s *scripted) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	s.asked.Add(1)
	return s.ranks(ctx, q)
}

// sickable is a core whose health a test turns on and off.
type sickable struct {
	scripted
	fault atomic.Pointer[func(context.Context) error]
}

func newSickable() *sickable {
	s := &sickable{}
	s.top = func(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
		if err := s.failure(ctx); err != nil {
			return nil, err
		}
		return &rankcore.Page{Meta: freshNow(q.Season), Entries: []rankcore.Entry{{Rank: 1, User: "abe", Score: 10}}}, nil
	}
	s.rank = func(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
		if err := s.failure(ctx); err != nil {
			return nil, err
		}
		if q.User == "nobody" {
			return nil, rankcore.ErrNotRanked
		}
		return &rankcore.Standing{Meta: freshNow(q.Season), User: q.User, Rank: 7, Precision: rankcore.Exact}, nil
	}
	s.rows = func(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
		if err := s.failure(ctx); err != nil {
			return nil, err
		}
		if q.Around == "nobody" {
			return nil, rankcore.ErrNotRanked
		}
		return &rankcore.Page{Meta: freshNow(q.Season), Entries: []rankcore.Entry{{Rank: 7, User: q.Around, Score: 10}}}, nil
	}
	s.ranks = func(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
		if err := s.failure(ctx); err != nil {
			return nil, err
		}
		batch := &rankcore.Standings{Meta: freshNow(q.Season), Users: make([]*rankcore.Standing, len(q.Users))}
		for i, u := range q.Users {
			if u != "nobody" {
				batch.Users[i] = &rankcore.Standing{Meta: batch.Meta, User: u, Rank: 7, Precision: rankcore.Exact}
			}
		}
		return batch, nil
	}
	return s
}

func (s *sickable) failure(ctx context.Context) error {
	if fault := s.fault.Load(); fault != nil {
		return (*fault)(ctx)
	}
	return nil
}

func (s *sickable) sicken(fault func(context.Context) error) { s.fault.Store(&fault) }
func (s *sickable) heal()                                    { s.fault.Store(nil) }

func freshNow(season rankcore.SeasonID) rankcore.Meta {
	return rankcore.Meta{Season: season, Status: rankcore.Fresh, AsOf: time.Now(), Total: 1}
}

// hangs never looks at its context: the worst kind of source. It ends with the test.
func hangs(t *testing.T) func(context.Context) error {
	t.Helper()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(context.Context) error { <-over; return nil }
}

func down(context.Context) error { return &rankcore.Unavailable{Reason: rankcore.CoreDown} }

func topQuery() rankcore.TopQuery { return rankcore.TopQuery{Board: board, Season: "all", Limit: 10} }

func rankQuery(u rankcore.UserID) rankcore.RankQuery {
	return rankcore.RankQuery{Board: board, Season: "all", User: u}
}

func wantTop(t *testing.T, g *Guard, status rankcore.Status, reason rankcore.Reason) *rankcore.Page {
	t.Helper()
	page, err := g.Top(t.Context(), topQuery())
	if err != nil {
		t.Fatalf("top: %v", err)
	}
	if page.Status != status || page.Reason != reason {
		t.Fatalf("top: %q because %q, want %q because %q", page.Status, page.Reason, status, reason)
	}
	return page
}

// counted is the value of a counter or gauge with the label value, 0 when there is none.
func counted(t *testing.T, r *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}
