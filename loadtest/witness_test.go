package loadtest_test

import (
	"strings"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

func TestWitnessOfStandings(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ledger := loadtest.NewLedger()
	w := loadtest.Witness{Board: newBoard(), Ledger: ledger}
	answer := func(score rankcore.Score, status rankcore.Status, asOf time.Time) string {
		return w.Standing(&rankcore.Standing{User: "p", Score: score, Meta: rankcore.Meta{Status: status, AsOf: asOf}}, now)
	}
	ledger.Sent("p", 5)
	ledger.Acked("p", now.Add(-1500*time.Millisecond))
	ledger.Sent("p", 7)
	ledger.Acked("p", now.Add(-500*time.Millisecond))
	ledger.Sent("p", 9)
	for _, c := range []struct {
		why    string
		score  rankcore.Score
		status rankcore.Status
		age    time.Duration
		want   string
	}{
		{"everything acknowledged", 7, rankcore.Fresh, 900 * time.Millisecond, ""},
		{"the newest is younger than the bound", 5, rankcore.Fresh, 800 * time.Millisecond, ""},
		{"sent and not acknowledged may show", 9, rankcore.Fresh, 700 * time.Millisecond, ""},
		{"old, and says so", 0, rankcore.Stale, 600 * time.Millisecond, ""},
		{"nothing is shown", 0, rankcore.Updating, time.Hour, ""},
		{"old, and called fresh", 4, rankcore.Fresh, 500 * time.Millisecond, "called fresh"},
		{"counted twice", 10, rankcore.Stale, 400 * time.Millisecond, "ever sent"},
		{"back in time", 7, rankcore.Fresh, 450 * time.Millisecond, "after an answer"},
	} {
		got := answer(c.score, c.status, now.Add(-c.age))
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
	w.Restarted()
	if got := answer(7, rankcore.Stale, now.Add(-time.Minute)); got != "" {
		t.Errorf("after a restart: %q", got)
	}
	if got := w.NotRanked("p", now); !strings.Contains(got, "not to be ranked") {
		t.Errorf("not ranked: %q", got)
	}
	if got := w.NotRanked("p", now.Add(-time.Second)); got != "" {
		t.Errorf("not ranked before the bound: %q", got)
	}
}

func TestWitnessOfPages(t *testing.T) {
	row := func(rank int64, user rankcore.UserID, score rankcore.Score) rankcore.Entry {
		return rankcore.Entry{Rank: rank, User: user, Score: score}
	}
	right := []rankcore.Entry{row(3, "c", 9), row(3, "d", 9), row(6, "a", 4)}
	for _, c := range []struct {
		why   string
		rows  []rankcore.Entry
		total int64
		want  string
	}{
		{"right, from within a tie", right, 6, ""},
		{"an end", nil, 3, ""},
		{"more rows than members", right, 5, "total"},
		{"a first rank beyond its place", []rankcore.Entry{row(5, "a", 1)}, 9, "has rank 5"},
		{"the wrong order", []rankcore.Entry{row(4, "a", 1), row(5, "b", 2)}, 9, "stands behind"},
		{"ties not by name", []rankcore.Entry{row(4, "b", 1), row(4, "a", 1)}, 9, "tie"},
		{"ties with two ranks", []rankcore.Entry{row(4, "a", 1), row(5, "b", 1)}, 9, "tie"},
		{"a dense rank", []rankcore.Entry{row(4, "a", 1), row(4, "b", 1), row(5, "c", 0)}, 9, "at place"},
	} {
		w := loadtest.Witness{Board: newBoard(), Ledger: loadtest.NewLedger()}
		page := &rankcore.Page{Meta: rankcore.Meta{Status: rankcore.Fresh, Total: c.total}, Entries: c.rows}
		offset := 3
		if got := w.Page(page, offset); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
	cameFirst := loadtest.Witness{Board: newBoard(first), Ledger: loadtest.NewLedger()}
	for want, rows := range map[string][]rankcore.Entry{
		"":         {row(1, "b", 9), row(2, "a", 9), row(3, "c", 4)},
		"at place": {row(1, "a", 9), row(1, "b", 9)},
	} {
		page := &rankcore.Page{Meta: rankcore.Meta{Status: rankcore.Fresh, Total: 3}, Entries: rows}
		if got := cameFirst.Page(page, 0); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("whoever came first: %q, want %q", got, want)
		}
	}
	asc := loadtest.Witness{Board: newBoard(func(b *rankcore.Board) { b.Order = rankcore.Asc })}
	page := &rankcore.Page{Meta: rankcore.Meta{Status: rankcore.Fresh, Total: 2}, Entries: []rankcore.Entry{row(1, "b", 1), row(2, "a", 2)}}
	if got := asc.Page(page, 0); got != "" {
		t.Errorf("lowest first: %q", got)
	}
}
