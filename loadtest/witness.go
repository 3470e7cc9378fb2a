package loadtest

import (
	"fmt"
	"time"

	"rankgate/rankcore"
)

// Witness is one reader with a memory: it holds each answer against what this reader saw before and against the
// ledger of the probes. Not safe for concurrent use; each client has its own.
type Witness struct {
	Board  *rankcore.Board
	Ledger *Ledger
	// Bound is how old a fresh answer may be: writes acknowledged longer than that before the question must be
	// in it. 0 is the board's freshness.
	Bound time.Duration

	seen map[string]time.Time // by question, the as_of of its newest answer
}

// Restarted forgets what was seen: a gateway that starts again may show its last snapshot.
func (w *Witness) Restarted() { clear(w.seen) }

// Standing says what is wrong with the answer to a question about a probe that was asked at the time asked,
// or "".
func (w *Witness) Standing(s *rankcore.Standing, asked time.Time) string {
	if s.Status == rankcore.Updating {
		return ""
	}
	if wrong := w.inOrder("rank of "+string(s.User), s.Meta); wrong != "" {
		return wrong
	}
	if most := w.Ledger.Ceiling(s.User); int64(s.Score) > most {
		return fmt.Sprintf("%s has %d, more than the %d ever sent", s.User, s.Score, most)
	}
	if least, ok := w.Ledger.Floor(s.User, asked.Add(-w.bound())); ok && s.Status == rankcore.Fresh && int64(s.Score) < least {
		return fmt.Sprintf("%s has %d in an answer called fresh, and %d was acknowledged over %v before the question",
			s.User, s.Score, least, w.bound())
	}
	return ""
}

// NotRanked says what is wrong with the answer that a probe is not ranked, or "". Such an answer has no
// status: once a write is older than the bound it may not be given.
func (w *Witness) NotRanked(u rankcore.UserID, asked time.Time) string {
	if least, ok := w.Ledger.Floor(u, asked.Add(-w.bound())); ok {
		return fmt.Sprintf("%s is said not to be ranked, and %d was acknowledged over %v before the question", u, least, w.bound())
	}
	return ""
}

// Page says what is wrong with a page of the top that starts at offset, or "".
func (w *Witness) Page(p *rankcore.Page, offset int) string {
	if p.Status == rankcore.Updating {
		return ""
	}
	if wrong := w.inOrder(fmt.Sprintf("top from %d", offset), p.Meta); wrong != "" {
		return wrong
	}
	if int64(offset+len(p.Entries)) > max(p.Total, int64(offset)) {
		return fmt.Sprintf("%d rows from row %d on, and a total of %d", len(p.Entries), offset, p.Total)
	}
	for i, e := range p.Entries {
		if i == 0 {
			if e.Rank < 1 || e.Rank > int64(offset+1) {
				return fmt.Sprintf("row %d has rank %d", offset, e.Rank)
			}
			continue
		}
		if wrong := w.follows(p.Entries[i-1], e, int64(offset+i+1)); wrong != "" {
			return fmt.Sprintf("row %d: %s", offset+i, wrong)
		}
	}
	return ""
}

// follows says what is wrong with e as the row at the given place, counted from 1, behind row before, or "".
func (w *Witness) follows(before, e rankcore.Entry, place int64) string {
	tied := before.Score == e.Score
	ahead := before.Score > e.Score
	if w.Board.Order == rankcore.Asc {
		ahead = before.Score < e.Score
	}
	shares := w.Board.Ties == rankcore.TiesShared
	switch {
	case !tied && !ahead:
		return fmt.Sprintf("%v stands behind %v", e, before)
	case tied && shares && (before.User >= e.User || before.Rank != e.Rank):
		return fmt.Sprintf("%v and %v tie, but not by rank and name", before, e)
	case (!tied || !shares) && e.Rank != place:
		return fmt.Sprintf("rank %d at place %d", e.Rank, place)
	}
	return ""
}

// inOrder checks that answers to one question never go back in time.
func (w *Witness) inOrder(question string, m rankcore.Meta) string {
	if w.seen == nil {
		w.seen = map[string]time.Time{}
	}
	last := w.seen[question]
	w.seen[question] = m.AsOf
	if m.AsOf.Before(last) {
		return fmt.Sprintf("%s is as of %v after an answer as of %v", question, m.AsOf, last)
	}
	return ""
}

func (w *Witness) bound() time.Duration { return orDefault(w.Bound, w.Board.Freshness) }
