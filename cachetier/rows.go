package cachetier

import (
	"context"
	"time"

	"rankgate/rankcore"
)

// Rows answers around a user from memory, as Rank does. Its neighbours may move within the freshness bound, as
// everybody may; the user's own changes are seen at once.
//
// Pages of a walk come from the source each time, which bounds how many are asked for at once. Few of them are asked
// for twice within a second, and one walk through a large board would drive what is asked for out of memory.
func (t *Tier) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	if q.Around == "" {
		return t.walk(ctx, q)
	}
	e, err := t.get(ctx, t.askAround(q))
	if err != nil {
		return nil, err
	}
	if e.page == nil {
		meta, err := t.notRanked(q.Season, e.doubt)
		if err != nil {
			return nil, err
		}
		return &rankcore.Page{Meta: meta}, nil
	}
	return e.page, nil
}

func (t *Tier) walk(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	t.metrics.misses[kindRows].Inc()
	_, doubt := t.current(q.Board, time.Now())
	page, err := t.source.Rows(ctx, q)
	if err != nil {
		return nil, err
	}
	page = t.pageAbove(q.Board.ID, page)
	if m := doubted(page.Meta, doubt); m != page.Meta {
		page = page.With(m)
	}
	t.gave(t.stamps(q.Board.ID), &page.Meta, time.Now())
	return page, nil
}

// Ranks asks the source each time, for all users at once: put together from what memory has of each, the ranks would
// be of different moments, and two of them could contradict each other.
func (t *Tier) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	t.metrics.misses[kindRanks].Inc()
	_, doubt := t.current(q.Board, time.Now())
	batch, err := t.source.Ranks(ctx, q)
	if err != nil {
		return nil, err
	}
	batch = t.batchAbove(q.Board.ID, batch)
	if m := doubted(batch.Meta, doubt); m != batch.Meta {
		batch = batch.With(m)
	}
	t.gave(t.stamps(q.Board.ID), &batch.Meta, time.Now())
	return batch, nil
}
