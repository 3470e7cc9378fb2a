package degrade

import (
	"slices"

	"rankgate/rankcore"
)

// head is what a snapshot knows of a season: its first rows, as the core told them together. It answers only what
// it knows for sure: what stands behind its last row, and whether a user without a row is ranked, it does not.
type head struct {
	ties rankcore.Ties
	page *rankcore.Page
	at   map[rankcore.UserID]int // where users stand in the page, those not ranked any more left out
}

func newHead(t rankcore.Ties, page *rankcore.Page) *head {
	h := &head{ties: t, page: page, at: make(map[rankcore.UserID]int, len(page.Entries))}
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

// behind are the rows behind a place and within a range; nil when not all of them are known.
func (h *head) behind(q rankcore.RowsQuery) *rankcore.Page {
	o, gap, rows := q.Board.Order, q.Gap(), h.page.Entries
	_, last := o.Keys(q.Within)
	from := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return gap.Precedes(o.Key(e.Score), e.Arrival, e.User) })
	if from < 0 {
		from = len(rows)
	}
	end := from
	for end < len(rows) && end-from < q.Limit && o.Key(rows[end].Score) <= last {
		end++
	}
	more := end < len(rows) && o.Key(rows[end].Score) <= last
	if end == len(rows) && int64(end) < h.page.Total {
		if end-from < q.Limit || !q.Within.IsWhole() { // whether the range goes on is not known either
			return nil
		}
		more = true
	}
	return &rankcore.Page{Meta: h.meta(), Entries: rows[from:end:end], More: more}
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
	better, behind := i, i+1
	for better > 0 && rows[better-1].Score == e.Score {
		better--
	}
	for behind < len(rows) && rows[behind].Score == e.Score {
		behind++
	}
	st := &rankcore.Standing{Meta: h.meta(), User: u, Score: e.Score, Arrival: e.Arrival}
	st.SetExact(h.ties, int64(better), int64(i-better), int64(behind-better))
	if int64(behind) < h.page.Total && behind == len(rows) {
		st.Precision, st.Tied = rankcore.Approx, 0
	}
	return st
}
