package degrade

import (
	"context"
	"errors"
	"time"

	"rankgate/rankcore"
)

// Rows answers from the core, or as Top does: with the last page or the snapshot's, or with an updating one.
func (g *Guard) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	k := question{board: q.Board.ID, season: q.Season, user: q.Around, limit: q.Limit}
	if q.Around == "" {
		k.after, k.within = q.After, q.Within
	}
	page, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Page, error) {
		return g.source.Rows(ctx, q)
	})
	switch {
	case err == nil && page.Status == rankcore.Partial:
		last, snapshot, seen := g.lastRows(k, q)
		if last == nil && snapshot == nil && seen.After(page.AsOf) {
			g.metrics.updating.Inc()
			return &rankcore.Page{Meta: updating(q.Season, page.Reason)}, nil
		}
		g.keepRows(k, page)
		return settled(g, page, last, snapshot, metaOfPage), nil
	case err == nil:
		g.keepRows(k, page)
		return page, nil
	case q.Around != "" && errors.Is(err, rankcore.ErrNotRanked):
		g.arounds.forget(k)
		g.snapshots.left(q.Board, q.Season, q.Around)
		return nil, rankcore.ErrNotRanked
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	last, snapshot, _ := g.lastRows(k, q)
	if page := older(g, last, snapshot, metaOfPage, reasonOf(err)); page != nil {
		return page, nil
	}
	return &rankcore.Page{Meta: updating(q.Season, reasonOf(err))}, nil
}

// keepRows remembers pages of walks apart, and few of them, so that a walk through a board drives nothing else out of
// memory; of many more it is only known when they were true.
func (g *Guard) keepRows(k question, page *rankcore.Page) {
	if k.user != "" {
		g.arounds.keep(k, page, page.Meta)
		return
	}
	g.walks.keep(k, page, page.Meta)
	g.walked.keep(k, &page.Meta, page.Meta)
}

// lastRows are the page that is remembered, and the snapshot's unless that would turn as_of back: seen is when the newest
// page of a walk was true that was given here, also where it is not remembered.
func (g *Guard) lastRows(k question, q rankcore.RowsQuery) (last, snapshot *rankcore.Page, seen time.Time) {
	if k.user != "" {
		last, _ = g.arounds.last(k, maxAge(q.Board))
		return last, g.snapshots.around(q), seen
	}
	last, _ = g.walks.last(k, maxAge(q.Board))
	if m, ok := g.walked.last(k, maxAge(q.Board)); ok {
		seen = m.AsOf
	}
	if snapshot = g.snapshots.behind(q); snapshot != nil && seen.After(snapshot.AsOf) {
		snapshot = nil
	}
	return last, snapshot, seen
}
