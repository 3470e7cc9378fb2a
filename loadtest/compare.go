package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"rankgate/rankcore"
)

// Difference is one thing that a board shows and the oracle does not, or the other way round.
type Difference struct {
	Season rankcore.SeasonID
	What   string // "rank of u7", "row 3 of the top", "total"
	Got    string
	Want   string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s, %s: got %s, want %s", d.Season, d.What, d.Got, d.Want)
}

// Comparison reads a board back and holds it against the oracle.
type Comparison struct {
	Board     *rankcore.Board
	Oracle    *Oracle
	Reader    rankcore.Reader    // a running rankgate by a Client, or any layer of one
	Precision rankcore.Precision // asked of every rank; exact costs the user's quota over HTTP
	Most      int                // stop after this many differences; 0 is 20
	Now       func() time.Time   // nil is time.Now

	season rankcore.SeasonID // under comparison
	found  []Difference
	placed places
}

// expiryMargin keeps seasons out of the comparison that may be retired while it runs.
const expiryMargin = time.Hour

// Once compares every row that top reaches, every total, and every user's score, rank, bounds, tie and
// percentile, in every season the oracle knows. A user who must not be ranked must not be. An answer that is
// not fresh is a difference, and so is a failed read. It returns an error only when ctx has ended.
func (c *Comparison) Once(ctx context.Context) ([]Difference, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	c.found = nil
	users := c.Oracle.Users()
	for _, want := range c.Oracle.Standings(now(), expiryMargin) {
		c.season, c.placed = want.Season, places{}
		if err := c.top(ctx, want); err != nil {
			return nil, err
		}
		for _, u := range users {
			if c.enough() {
				return c.found, nil
			}
			if err := c.rank(ctx, u, want); err != nil {
				return nil, err
			}
		}
		c.line(want)
	}
	return c.found, nil
}

// Settle compares again and again until nothing differs, and returns the last differences when ctx ends
// first. The board may still be catching up when it is called.
func (c *Comparison) Settle(ctx context.Context) []Difference {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := []Difference{{What: "comparison", Got: "no time for one", Want: "one"}}
	for {
		found, err := c.Once(ctx)
		if err == nil {
			last = found
		}
		if err == nil && len(found) == 0 || !sleepUntil(ctx, timer, time.Now().Add(50*time.Millisecond)) {
			return last
		}
	}
}

func (c *Comparison) enough() bool { return len(c.found) >= orDefault(c.Most, 20) }

// expect notes a difference unless got equals want.
func (c *Comparison) expect(what string, got, want any) {
	if got != want && !c.enough() {
		c.found = append(c.found, Difference{c.season, what, fmt.Sprint(got), fmt.Sprint(want)})
	}
}

// failed notes a read that got no answer, or returns the error of the caller's own context.
func (c *Comparison) failed(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	c.expect(what, err, "an answer")
	return nil
}

// top compares the rows from the first to the last that top reaches, in pages, and the total.
func (c *Comparison) top(ctx context.Context, want Standings) error {
	const rows = 100
	for from := 0; from == 0 || from < min(c.Board.Head, len(want.Rows)); from += rows {
		q := rankcore.TopQuery{Board: c.Board, Season: c.season, Offset: from, Limit: min(rows, c.Board.Head-from)}
		page, err := c.Reader.Top(ctx, q)
		if err != nil {
			return c.failed(fmt.Sprintf("top from row %d", from), err)
		}
		c.expect("status of the top", page.Status, rankcore.Fresh)
		c.expect("total", page.Total, int64(len(want.Rows)))
		right := want.Rows[min(from, len(want.Rows)):min(from+q.Limit, len(want.Rows))]
		c.expect(fmt.Sprintf("rows of the top from %d on", from), len(page.Entries), len(right))
		for i, e := range page.Entries[:min(len(page.Entries), len(right))] {
			c.row(from+i, e, right[i], want)
		}
	}
	return nil
}

// row compares a row of the top. Who of a tie it shows is for line to judge where whoever came first stands ahead.
func (c *Comparison) row(i int, got, right rankcore.Entry, want Standings) {
	what := fmt.Sprintf("row %d of the top", i)
	if c.Board.Ties == rankcore.TiesFirst {
		c.place(what, got.User, got.Rank, want.Members[got.User])
		right.User, right.Rank = got.User, int64(i+1)
	}
	c.expect(what, row(got), row(right))
}

// row is all of an entry that clients are told.
func row(e rankcore.Entry) string { return fmt.Sprintf("{%d %s %d}", e.Rank, e.User, e.Score) }

func (c *Comparison) rank(ctx context.Context, u rankcore.UserID, want Standings) error {
	q := rankcore.RankQuery{Board: c.Board, Season: c.season, User: u, Precision: c.Precision}
	got, err := c.Reader.Rank(ctx, q)
	member, ranked := want.Members[u]
	switch {
	case errors.Is(err, rankcore.ErrNotRanked), err == nil && !ranked:
		c.expect(fmt.Sprintf("whether %q is ranked", u), err == nil, ranked)
		return nil
	case err != nil:
		return c.failed(fmt.Sprintf("rank of %q", u), err)
	}
	c.expect(fmt.Sprintf("user of the answer for %q", u), got.User, u)
	c.expect(fmt.Sprintf("status for %q", u), got.Status, rankcore.Fresh)
	c.expect(fmt.Sprintf("score of %q", u), got.Score, member.Score)
	c.expect(fmt.Sprintf("total for %q", u), got.Total, int64(len(want.Rows)))
	if got.Precision == rankcore.Exact {
		if c.Board.Ties == rankcore.TiesFirst {
			c.place(fmt.Sprintf("rank of %q", u), u, got.Rank, member)
			member.Rank, member.Worse = got.Rank, int64(len(want.Rows))-got.Rank
		}
		c.expect(fmt.Sprintf("rank of %q", u), got.Rank, member.Rank)
		c.expect(fmt.Sprintf("tie of %q", u), got.Tied, member.Tied)
		c.percentile(fmt.Sprintf("percentile of %q", u), got.Percentile, member.Worse, len(want.Rows))
		return nil
	}
	last := member.Rank // the last place the user may have
	if c.Board.Ties == rankcore.TiesFirst {
		last += member.Tied - 1
	}
	c.expect(fmt.Sprintf("precision for %q", u), got.Precision, rankcore.Approx)
	if last < got.Low || member.Rank > got.High || got.Rank < got.Low || got.Rank > got.High {
		c.expect(fmt.Sprintf("bounds for %q", u), fmt.Sprintf("%d within %d..%d", got.Rank, got.Low, got.High), fmt.Sprint(member.Rank))
	}
	return nil
}

// percentile compares to a tenth, as answers may be rounded.
func (c *Comparison) percentile(what string, got float64, worse int64, total int) {
	want := 100.0
	if total > 1 {
		want = 100 * float64(worse) / float64(total-1)
	}
	if math.Abs(got-want) > 0.1 {
		c.expect(what, got, want)
	}
}
