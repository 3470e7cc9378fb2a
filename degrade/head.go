package degrade

import "rankgate/rankcore"

// head is what a snapshot knows of a season: its first rows, as the core told them together. It answers only what
// it knows for sure: what stands behind its last row, and whether a user without a row is ranked, it does not.
type head struct {
	page *rankcore.Page
	at   map[rankcore.UserID]int // where users stand in the page, those not ranked any more left out
}

func newHead(page *rankcore.Page) *head {
	h := &head{page: page, at: make(map[rankcore.UserID]int, len(page.Entries))}
	for i, e := range page.Entries {
		h.at[e.User] = i
	}
	return h
}

// meta is what every answer of a snapshot says of itself.
func (h *head) meta() rankcore.Meta {
	m := h.page.Meta
	m.Status, m.Reason = rankcore.Stale, rankcore.FromSnapshot
	return m
}

// rows are limit rows from offset on, fewer at the board's end; nil when not all of them are known.
func (h *head) rows(offset, limit int) *rankcore.Page {
	end := min(int64(offset)+int64(limit), h.page.Total)
	if limit <= 0 || int64(offset) >= end {
		return &rankcore.Page{Meta: h.meta(), Entries: []rankcore.Entry{}}
	}
	if end > int64(len(h.page.Entries)) {
		return nil
	}
	return &rankcore.Page{Meta: h.meta(), Entries: h.page.Entries[offset:end:end]}
}

// around is RowsQuery.Around: the user's row with as many before as behind it where the ends allow.
func (h *head) around(u rankcore.UserID, limit int) *rankcore.Page {
	i, ok := h.at[u]
	if !ok {
		return nil
	}
	first := max(min(int64(i-limit/2), h.page.Total-int64(limit)), 0)
	return h.rows(int(first), limit)
}

// standing is where a user stands. In a tie that goes on behind the last row the number of tied members is not
// known, so that standing is not called exact although its rank is.
func (h *head) standing(u rankcore.UserID) *rankcore.Standing {
	i, ok := h.at[u]
	if !ok {
		return nil
	}
	rows, e := h.page.Entries, h.page.Entries[i]
	behind := i + 1
	for behind < len(rows) && rows[behind].Score == e.Score {
		behind++
	}
	st := &rankcore.Standing{
		Meta: h.meta(), User: u, Score: e.Score, Rank: e.Rank, Low: e.Rank, High: e.Rank,
		Percentile: rankcore.Percentile(h.page.Total-int64(behind), h.page.Total),
	}
	if int64(behind) < h.page.Total && behind == len(rows) {
		st.Precision = rankcore.Approx
		return st
	}
	st.Precision, st.Tied = rankcore.Exact, int64(behind)-e.Rank+1
	return st
}
