package storetest

import (
	"errors"
	"fmt"
	"slices"

	"rankgate/rankcore"
)

// checkLists holds walks, neighbours and batches against the season's rows. It takes other limits each time.
func (f *feeder) checkLists(season rankcore.SeasonID, rows []rankcore.Entry, asked []string) error {
	f.lists++
	limit := 1 + f.lists%5
	if len(rows) > 50 {
		limit = []int{len(rows) / 7, len(rows) - 1, len(rows), rankcore.MaxRows}[f.lists%4]
	}
	if err := f.checkWalk(season, rows, rankcore.ScoreRange{}, limit); err != nil {
		return err
	}
	for _, r := range f.ranges(rows) {
		if err := f.checkWalk(season, rows, r, limit); err != nil {
			return err
		}
	}
	for i, u := range asked {
		if err := f.checkAround(season, rows, rankcore.UserID(u), 1+(f.lists+i)%6); err != nil {
			return err
		}
	}
	return f.checkBatch(season, rows, asked)
}

// ranges are one inside the scores there are, ends included or not, and one beside them.
func (f *feeder) ranges(rows []rankcore.Entry) []rankcore.ScoreRange {
	if len(rows) == 0 {
		return []rankcore.ScoreRange{rankcore.Between(0, 0)}
	}
	a, b := rows[f.lists*5%len(rows)].Score, rows[f.lists*3%len(rows)].Score
	beside := min(rows[0].Score, rows[len(rows)-1].Score) - 1
	return []rankcore.ScoreRange{
		rankcore.Between(min(a, b), max(a, b)),
		rankcore.Between(max(beside, -rankcore.MaxScore), max(a, b)-rankcore.Score(f.lists%2)),
		rankcore.Between(rankcore.MaxScore, rankcore.MaxScore),
	}
}

// checkWalk goes through all pages of a range as a caller does, each from the last row of the one before.
func (f *feeder) checkWalk(season rankcore.SeasonID, rows []rankcore.Entry, within rankcore.ScoreRange, limit int) error {
	least, most := within.Bounds()
	var want, got []rankcore.Entry
	for _, e := range rows {
		if e.Score >= least && e.Score <= most {
			want = append(want, e)
		}
	}
	q := rankcore.RowsQuery{Board: f.board, Season: season, Limit: limit, Within: within}
	for more := true; more && len(got) <= len(want); {
		page, err := f.store.Rows(f.t.Context(), q)
		if err != nil {
			return fmt.Errorf("rows after %+v: %w", q.After, err)
		}
		got = append(got, page.Entries...)
		more = page.More
		n := len(page.Entries)
		if page.Status != rankcore.Fresh || page.Total != int64(len(rows)) || page.Season != season || n > limit || more && n < limit {
			return fmt.Errorf("rows after %+v, limit %d: %+v", q.After, limit, page)
		}
		if n > 0 {
			q.After = page.Entries[n-1].Place()
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("all pages of %d, %d..%d:\n got %v\nwant %v", limit, least, most, got, want)
	}
	return nil
}

func (f *feeder) checkAround(season rankcore.SeasonID, rows []rankcore.Entry, u rankcore.UserID, limit int) error {
	page, err := f.store.Rows(f.t.Context(), rankcore.RowsQuery{Board: f.board, Season: season, Around: u, Limit: limit})
	at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == u })
	if at < 0 {
		if !errors.Is(err, rankcore.ErrNotRanked) {
			return fmt.Errorf("around unranked %q: %+v, %w", u, page, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("around %q: %w", u, err)
	}
	from := max(min(at-limit/2, len(rows)-limit), 0)
	want := rows[from:min(from+limit, len(rows))]
	if page.Status != rankcore.Fresh || page.Total != int64(len(rows)) || page.More || !slices.Equal(page.Entries, want) {
		return fmt.Errorf("%d around %q, row %d:\n got %+v\nwant %v", limit, u, at, page, want)
	}
	return nil
}

// checkBatch asks for all of them at once, one twice, and one whom nobody knows.
func (f *feeder) checkBatch(season rankcore.SeasonID, rows []rankcore.Entry, asked []string) error {
	var users []rankcore.UserID
	for _, u := range append(slices.Clone(asked), "nobody at all", asked[0]) {
		users = append(users, rankcore.UserID(u))
	}
	batch, err := f.store.Ranks(f.t.Context(), rankcore.RanksQuery{Board: f.board, Season: season, Users: users})
	if err != nil {
		return fmt.Errorf("batch of %v: %w", users, err)
	}
	if batch.Status != rankcore.Fresh || batch.Total != int64(len(rows)) || batch.Season != season || len(batch.Users) != len(users) {
		return fmt.Errorf("batch of %v: %+v", users, batch)
	}
	for i, u := range users {
		at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == u })
		st := batch.Users[i]
		switch {
		case at < 0 && st != nil:
			return fmt.Errorf("batch: unranked %q: %+v", u, st)
		case at < 0:
		case st == nil:
			return fmt.Errorf("batch: %q is missing", u)
		default:
			if err := f.checkStanding(st, rankcore.Auto, rows, at); err != nil {
				return fmt.Errorf("batch: %q: %w\n got %+v\nwant %+v of %v", u, err, st, rows[at], rows)
			}
			if rows[at].Rank <= int64(f.board.Head) && st.Precision != rankcore.Exact {
				return fmt.Errorf("batch: %q stands in the head and got an estimate: %+v", u, st)
			}
		}
	}
	return nil
}
