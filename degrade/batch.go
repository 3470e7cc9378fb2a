package degrade

import (
	"context"

	"rankgate/rankcore"
)

// Ranks answers from the core, or, when the last standing of every user asked for is remembered, with those: as old
// as the oldest. One missing makes the answer updating, since a hole would look like a user without a rank.
func (g *Guard) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	batch, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Standings, error) {
		return g.source.Ranks(ctx, q)
	})
	if err == nil {
		g.keepBatch(q, batch)
		return batch, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	reason := reasonOf(err)
	if last := g.lastBatch(q, reason); last != nil {
		g.metrics.stale.Inc()
		return last, nil
	}
	g.metrics.updating.Inc()
	return &rankcore.Standings{Meta: updating(q.Season, reason)}, nil
}

// keepBatch remembers each standing as if it had been asked for alone.
func (g *Guard) keepBatch(q rankcore.RanksQuery, batch *rankcore.Standings) {
	for i, st := range batch.Users {
		k := question{board: q.Board.ID, season: q.Season, user: q.Users[i]}
		if st != nil {
			g.standings.keep(k, st, batch.Meta)
		} else if batch.Status == rankcore.Fresh {
			g.standings.forget(k)
		}
	}
}

// lastBatch is nil when a standing is not remembered.
func (g *Guard) lastBatch(q rankcore.RanksQuery, reason rankcore.Reason) *rankcore.Standings {
	batch := &rankcore.Standings{Users: make([]*rankcore.Standing, len(q.Users))}
	for i, u := range q.Users {
		last, ok := g.standings.last(question{board: q.Board.ID, season: q.Season, user: u})
		if !ok {
			return nil
		}
		if i == 0 || last.AsOf.Before(batch.AsOf) {
			batch.Meta = last.Meta
		}
		batch.Users[i] = last
	}
	batch.Status, batch.Reason = rankcore.Stale, reason
	return batch.With(batch.Meta)
}
