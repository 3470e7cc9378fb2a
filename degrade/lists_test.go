package degrade

import (
	"context"
	"errors"
	"testing"
	"time"

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

// Pages of walks are remembered by their place, and few of them: a walk must not drive out the tops.
func TestLastPagesOfAWalk(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core, Pages: 1, Walks: 2})
	wantTop(t, g, rankcore.Fresh, "")
	page := func(after rankcore.UserID) rankcore.RowsQuery {
		q := rowsQuery("")
		if after != "" {
			q.After = rankcore.Place{Score: 10, User: after}
		}
		return q
	}
	var shown *rankcore.Page
	for _, after := range []rankcore.UserID{"abe", "bill", ""} {
		var err error
		if shown, err = g.Rows(t.Context(), page(after)); err != nil || shown.Status != rankcore.Fresh {
			t.Fatalf("%+v, %v", shown, err)
		}
	}
	core.sicken(down)
	wantTop(t, g, rankcore.Stale, rankcore.CoreDown)
	for after, want := range map[rankcore.UserID]rankcore.Status{"": rankcore.Stale, "bill": rankcore.Stale, "abe": rankcore.Updating} {
		if got, err := g.Rows(t.Context(), page(after)); err != nil || got.Status != want {
			t.Errorf("behind %q: %+v, %v, want %s", after, got, err, want)
		}
	}
	if got, _ := g.Rows(t.Context(), page("")); !got.AsOf.Equal(shown.AsOf) || len(got.Entries) != 1 {
		t.Errorf("%+v, want the last one", got)
	}
	ranged := page("")
	ranged.Within = rankcore.Between(1, 20)
	if got, err := g.Rows(t.Context(), ranged); err != nil || got.Status != rankcore.Updating || len(got.Entries) > 0 {
		t.Errorf("a range never asked for: %+v, %v", got, err)
	}
}

// A page that is not remembered any more is cut from the snapshot, unless a newer one was given.
func TestPagesOfTheSnapshot(t *testing.T) {
	core := newHeads()
	s := OpenSnapshots(SnapshotsConfig{Dir: t.TempDir(), Boards: []*rankcore.Board{daily}})
	g := NewGuard(Config{Source: core, Snapshots: s, Walks: 1})
	core.scripted.rows = func(context.Context, rankcore.RowsQuery) (*rankcore.Page, error) { return nil, down(t.Context()) }
	s.take(t.Context(), g, &turn{board: daily}, time.Now())
	q := rankcore.RowsQuery{Board: daily, Season: "all", Limit: 1}
	other := q
	other.Within = rankcore.Between(-5, 5)
	want := func(what string, status rankcore.Status, reason rankcore.Reason) {
		t.Helper()
		if page, err := g.Rows(t.Context(), q); err != nil || page.Status != status || page.Reason != reason {
			t.Errorf("%s: %+v, %v, want %s because of %s", what, page, err, status, reason)
		}
	}
	want("never asked for", rankcore.Stale, rankcore.FromSnapshot)
	answer := func(context.Context, rankcore.RowsQuery) (*rankcore.Page, error) {
		return &rankcore.Page{Meta: freshNow("all"), Entries: []rankcore.Entry{{Rank: 1, User: "abe", Score: 10}}}, nil
	}
	sick := core.scripted.rows
	core.scripted.rows = answer
	for _, q := range []rankcore.RowsQuery{q, other} { // the second drives the first out of memory
		if _, err := g.Rows(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	core.scripted.rows = sick
	want("given since", rankcore.Updating, rankcore.CoreDown)
	core.scripted.rows = func(context.Context, rankcore.RowsQuery) (*rankcore.Page, error) {
		m := freshNow("all")
		m.Status, m.Reason, m.AsOf = rankcore.Partial, rankcore.CoreSlow, m.AsOf.Add(-time.Minute)
		return &rankcore.Page{Meta: m}, nil
	}
	want("and a partial one is older", rankcore.Updating, rankcore.CoreSlow)
}

// A batch is put together from the last standings, whichever question they came with. Of whom nothing is known is
// marked, which is not the same as to have no rank, and hides nobody else.
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
	for _, unknown := range []rankcore.UserID{"nobody", "never asked"} {
		got, err := g.Ranks(t.Context(), ranksQuery(unknown, "abe"))
		if err != nil || got.Status != rankcore.Stale || !got.Users[1].Known() || got.Users[1].Rank != 7 {
			t.Fatalf("%s and abe: %+v, %v", unknown, got, err)
		}
		if st := got.Users[0]; st.User != unknown || st.Status != rankcore.Updating || st.Reason != rankcore.CoreDown {
			t.Errorf("%s: %+v, want that nobody knows", unknown, st)
		}
		if got, err := g.Ranks(t.Context(), ranksQuery(unknown)); err != nil || got.Status != rankcore.Updating || got.Users != nil {
			t.Errorf("%s alone: %+v, %v", unknown, got, err)
		}
	}
}

// What the core does not know of a partial batch, the last standings tell, and its age is the oldest one's.
func TestPartialBatch(t *testing.T) {
	core := newSickable()
	g := NewGuard(Config{Source: core})
	first, err := g.Ranks(t.Context(), ranksQuery("abe"))
	if err != nil {
		t.Fatal(err)
	}
	m := freshNow("all")
	m.Status, m.Reason, m.AsOf = rankcore.Partial, rankcore.CoreSlow, m.AsOf.Add(time.Hour)
	core.ranks = func(_ context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
		batch := &rankcore.Standings{Meta: m, Users: make([]*rankcore.Standing, len(q.Users))}
		for i, u := range q.Users {
			batch.Users[i] = rankcore.Unknown(u, "all", m.Reason)
		}
		batch.Users[0] = &rankcore.Standing{Meta: m, User: q.Users[0], Rank: 3}
		return batch, nil
	}
	for range 2 { // nor is what stands in taken for what the core told
		got, err := g.Ranks(t.Context(), ranksQuery("bill", "abe", "cy"))
		if err != nil || got.Status != rankcore.Partial || !got.AsOf.Equal(first.AsOf) {
			t.Fatalf("%+v, %v", got, err)
		}
		if bill, abe, cy := got.Users[0], got.Users[1], got.Users[2]; bill.Rank != 3 || abe.Rank != 7 || cy.Known() || bill.Meta != got.Meta || abe.Meta != got.Meta {
			t.Errorf("bill %+v, abe %+v, cy %+v", bill, abe, cy)
		}
	}
	got, err := g.Ranks(t.Context(), ranksQuery("bill", "cy"))
	if err != nil || got.Status != rankcore.Partial || !got.AsOf.Equal(m.AsOf) {
		t.Errorf("%+v, %v, want the age of what is known", got, err)
	}
}
