package cachetier_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"rankgate/cachetier"
	"rankgate/degrade"
	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
	"rankgate/rankcore/storetest"
)

// Guarding and caching must not change an answer, only its age.
func TestStackIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Boards: boards, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		tier, err := cachetier.New(cachetier.Config{
			Source:      degrade.NewGuard(degrade.Config{Source: store, Timeout: patience}),
			Progress:    current{},
			LoadTimeout: patience,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tier.Close)
		return stack{store, tier}
	})
}

// patience keeps a busy test machine from looking like a slow core.
const patience = time.Minute

// current is an applier that is always at the end of the log.
type current struct{}

func (current) Progress(id rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
	now := time.Now()
	return rankcore.Progress{Board: id, CaughtUp: now}, now, true
}

// stack reads through guard and tier, and writes to the store, whose changes it tells.
type stack struct {
	*memstore.Store
	tier *cachetier.Tier
}

func (s stack) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	defer s.tier.Floor(b.ID)
	return s.Store.Apply(ctx, b, steps)
}

func (s stack) Reset(ctx context.Context, b *rankcore.Board, shard int) error {
	defer s.tier.Floor(b.ID)
	return s.Store.Reset(ctx, b, shard)
}

// Top turns an answer that is not fresh back into the error it stands for.
func (s stack) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	page, err := s.tier.Top(ctx, q)
	if err == nil && page.Status != rankcore.Fresh {
		return nil, &rankcore.Unavailable{Reason: page.Reason}
	}
	return page, err
}

// Rank does the same.
func (s stack) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	standing, err := s.tier.Rank(ctx, q)
	if err == nil && standing.Status != rankcore.Fresh {
		return nil, &rankcore.Unavailable{Reason: standing.Reason}
	}
	return standing, err
}

// Rows does the same.
func (s stack) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	page, err := s.tier.Rows(ctx, q)
	if err == nil && page.Status != rankcore.Fresh {
		return nil, &rankcore.Unavailable{Reason: page.Reason}
	}
	return page, err
}

// Ranks does the same.
func (s stack) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	batch, err := s.tier.Ranks(ctx, q)
	if err == nil && batch.Status != rankcore.Fresh {
		return nil, &rankcore.Unavailable{Reason: batch.Reason}
	}
	return batch, err
}
