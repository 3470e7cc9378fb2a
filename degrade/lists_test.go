package degrade

import (
	"context"
	"errors"
	"testing"

	"rankgate/rankcore"
)

func rowsQuery(u rankcore.UserID) rankcore.RowsQuery {
	return rankcore.RowsQuery{Board: board, Season: "all", Around: u, Limit: 11}
}

func ranksQuery(users ...rankcore.UserID) rankcore.RanksQuery {
	return rankcore.RanksQuery{Board: board, Season: "all", Users: users}
}

func TestLastPageAroundAUser(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	for _, u := range []rankcore.UserID{"abe", "bill"} {
		if page, err := g.Rows(t.Context(), rowsQuery(u)); err != nil || page.Status != rankcore.Fresh {
			t.Fatalf("%s: %+v, %v", u, page, err)
		}
	}
	if _, err := g.Rows(t.Context(), rowsQuery("nobody")); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("nobody: %v, want ErrNotRanked", err)
	}
	core.sicken(func(context.Context) error { return rankcore.ErrNotRanked })
	if _, err := g.Rows(t.Context(), rowsQuery("bill")); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("bill, removed: %v, want ErrNotRanked", err)
	}
	core.sicken(down)
	other := rowsQuery("abe")
	other.Limit = 3
	for _, c := range []struct {
		q    rankcore.RowsQuery
		want rankcore.Status
	}{
		{rowsQuery("abe"), rankcore.Stale},
		{rowsQuery("bill"), rankcore.Updating}, // the removed do not come back
		{rowsQuery("nobody"), rankcore.Updating},
		{other, rankcore.Updating},
	} {
		page, err := g.Rows(t.Context(), c.q)
		if err != nil || page.Status != c.want || page.Reason != rankcore.CoreDown {
			t.Errorf("%s in the outage: %+v, %v, want %s", c.q.Around, page, err, c.want)
		}
	}
}

// A page of a walk is not remembered: it would not fit the next one, and a walk would drive out the tops.
func TestWalksAreNotRemembered(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core, Pages: 1})
	wantTop(t, g, rankcore.Fresh, "")
	q := rowsQuery("")
	if page, err := g.Rows(t.Context(), q); err != nil || page.Status != rankcore.Fresh {
		t.Fatalf("%+v, %v", page, err)
	}
	core.sicken(down)
	wantTop(t, g, rankcore.Stale, rankcore.CoreDown)
	if page, err := g.Rows(t.Context(), q); err != nil || page.Status != rankcore.Updating || len(page.Entries) > 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

// A batch is put together from the last standings, whichever question they came with, and only when none is missing.
func TestLastBatch(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	batch, err := g.Ranks(t.Context(), ranksQuery("abe", "nobody", "bill"))
	if err != nil || batch.Status != rankcore.Fresh || batch.Users[1] != nil {
		t.Fatalf("%+v, %v", batch, err)
	}
	if _, err := g.Rank(t.Context(), rankQuery("cy")); err != nil {
		t.Fatal(err)
	}
	core.sicken(down)
	last, err := g.Ranks(t.Context(), ranksQuery("cy", "abe", "abe"))
	if err != nil || last.Status != rankcore.Stale || last.Reason != rankcore.CoreDown || len(last.Users) != 3 {
		t.Fatalf("%+v, %v", last, err)
	}
	for i, want := range []rankcore.UserID{"cy", "abe", "abe"} {
		if st := last.Users[i]; st.User != want || st.Rank != 7 || st.Status != rankcore.Stale || !st.AsOf.Equal(batch.AsOf) {
			t.Errorf("%d: %+v", i, st)
		}
	}
	if batch.Status != rankcore.Fresh || batch.Users[0].Status != rankcore.Fresh {
		t.Error("the shared batch was modified")
	}
	if st, err := g.Rank(t.Context(), rankQuery("bill")); err != nil || st.Status != rankcore.Stale {
		t.Errorf("one of a batch, alone: %+v, %v", st, err)
	}
	for _, q := range []rankcore.RanksQuery{ranksQuery("abe", "nobody"), ranksQuery("abe", "never asked")} {
		if got, err := g.Ranks(t.Context(), q); err != nil || got.Status != rankcore.Updating || got.Users != nil {
			t.Errorf("%v: %+v, %v, want updating: a hole would be a guess", q.Users, got, err)
		}
	}
}
