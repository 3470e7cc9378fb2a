package aggregate

import (
	"context"
	"testing"
	"time"

	"rankgate/cachetier"
	"rankgate/degrade"
	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/storetest"
)

// stack reads through tier, guard and client, and writes to the core.
type stack struct {
	*core
	tier *cachetier.Tier
}

func (s stack) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	defer s.tier.Floor(b.ID)
	return s.core.Apply(ctx, b, steps)
}

func (s stack) Reset(ctx context.Context, b *rankcore.Board, shard int) error {
	defer s.tier.Floor(b.ID)
	return s.core.Reset(ctx, b, shard)
}

// Top turns an answer that is not fresh back into the error it stands for.
func (s stack) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	page, err := s.tier.Top(ctx, q)
	if err == nil && page.Status != rankcore.Fresh {
		return nil, &rankcore.Unavailable{Reason: page.Reason}
	}
	return page, err
}

// current is an applier that is always at the end of the log.
type current struct{}

func (current) Progress(id rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
	now := time.Now()
	return rankcore.Progress{Board: id, CaughtUp: now}, now, true
}

// Nor does it change an answer behind a guard and a tier, which keep what they were given.
func TestStackOverAClientIsAStore(t *testing.T) {
	const patience = time.Minute // keeps a busy test machine from looking like a slow core
	server := servers.NATS(t)
	var answered float64
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		c := startCore(t, server.URL, time.Nanosecond, boards...)
		client := NewClient(ClientConfig{Conn: connect(t, server.URL), Boards: boards, Shards: "model", Source: c.Store, Every: time.Nanosecond})
		tier, err := cachetier.New(cachetier.Config{
			Source:   degrade.NewGuard(degrade.Config{Source: client, Timeout: patience}),
			Progress: current{}, LoadTimeout: patience,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			tier.Close()
			answered += counted(t, client.metrics.answered)
		})
		return stack{c, tier}
	})
	if t.Logf("%v answers came from the core", answered); answered == 0 {
		t.Error("no answer came from the core")
	}
}
