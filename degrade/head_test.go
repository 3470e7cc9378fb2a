package degrade

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// headOf is a head of ranked rows, best first, on a board of total members where ties share.
func headOf(total int64, scores ...rankcore.Score) *head {
	return headWith(rankcore.TiesShared, total, scores...)
}

func headWith(ties rankcore.Ties, total int64, scores ...rankcore.Score) *head {
	page := &rankcore.Page{Meta: rankcore.Meta{Season: "all", Status: rankcore.Fresh, AsOf: time.Now(), Total: total}}
	for i, score := range scores {
		page.Entries = append(page.Entries, rankcore.Entry{User: rankcore.UserID('a' + rune(i)), Score: score})
	}
	ties.SetRanks(page.Entries, 0, 0)
	return newHead(ties, page)
}

// users are the rows' users, "none" where the head cannot answer.
func users(p *rankcore.Page) (text string) {
	if p == nil {
		return "none"
	}
	for _, e := range p.Entries {
		text += string(e.User)
	}
	return text
}

func TestHeadAnswersOnlyRowsItKnows(t *testing.T) {
	whole, part := headOf(4, 9, 7, 7, 1), headOf(100, 9, 7, 7, 1)
	cases := []struct {
		head          *head
		offset, limit int
		want          string
	}{
		{whole, 0, 4, "abcd"},
		{whole, 1, 2, "bc"},
		{whole, 2, 10, "cd"},
		{whole, 4, 10, ""},
		{whole, 9, 1, ""},
		{whole, 0, 0, ""},
		{part, 0, 4, "abcd"},
		{part, 3, 1, "d"},
		{part, 0, 5, "none"},
		{part, 4, 1, "none"},
		{part, 0, 0, ""},
		{headOf(0), 0, 10, ""},
	}
	for _, c := range cases {
		page := c.head.rows(c.offset, c.limit)
		if got := users(page); got != c.want {
			t.Errorf("%d from %d of %d: %q, want %q", c.limit, c.offset, c.head.page.Total, got, c.want)
		}
		if page != nil && (page.Status != rankcore.Stale || page.Reason != rankcore.FromSnapshot) {
			t.Errorf("%d from %d: %s because of %q", c.limit, c.offset, page.Status, page.Reason)
		}
	}
}

func TestHeadAnswersPagesItKnows(t *testing.T) {
	whole, part, tie := headOf(4, 9, 7, 7, 1), headOf(100, 9, 7, 7, 1), rankcore.Between(7, 8)
	at := func(score rankcore.Score, u rankcore.UserID) rankcore.Place {
		return rankcore.Place{Score: score, User: u}
	}
	cases := []struct {
		head   *head
		after  rankcore.Place
		within rankcore.ScoreRange
		limit  int
		want   string // + where there is more
	}{
		{whole, rankcore.Place{}, rankcore.ScoreRange{}, 4, "abcd"},
		{whole, rankcore.Place{}, rankcore.ScoreRange{}, 2, "ab+"},
		{whole, at(7, "b"), rankcore.ScoreRange{}, 2, "cd"},
		{whole, at(8, "left since"), rankcore.ScoreRange{}, 2, "bc+"},
		{whole, at(1, "d"), rankcore.ScoreRange{}, 2, ""},
		{whole, rankcore.Place{}, tie, 9, "bc"},
		{whole, rankcore.Place{}, tie, 1, "b+"},
		{whole, at(7, "b"), tie, 1, "c"},
		{part, rankcore.Place{}, rankcore.ScoreRange{}, 4, "abcd+"},
		{part, rankcore.Place{}, rankcore.ScoreRange{}, 5, "none"},
		{part, at(1, "d"), rankcore.ScoreRange{}, 1, "none"},
		{part, rankcore.Place{}, tie, 9, "bc"},
		{part, rankcore.Place{}, rankcore.Between(0, 1), 1, "none"}, // is there another 1, or a 0?
		{part, rankcore.Place{}, rankcore.Between(1, 9), 2, "ab+"},
	}
	for i, c := range cases {
		q := rankcore.RowsQuery{Board: board, After: c.after, Within: c.within, Limit: c.limit}
		page := c.head.behind(q)
		got := users(page)
		if page != nil && page.More {
			got += "+"
		}
		if got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

func TestHeadCentresAUserWhereTheEndsAllow(t *testing.T) {
	whole, part := headOf(7, 9, 8, 7, 6, 5, 4, 3), headOf(100, 9, 8, 7, 6, 5, 4, 3)
	cases := []struct {
		head  *head
		user  rankcore.UserID
		limit int
		want  string
	}{
		{whole, "d", 3, "cde"},
		{whole, "d", 4, "bcde"},
		{whole, "a", 3, "abc"},
		{whole, "g", 3, "efg"},
		{whole, "g", 1, "g"},
		{whole, "b", 101, "abcdefg"},
		{whole, "z", 3, "none"},
		{part, "f", 3, "efg"},
		{part, "g", 2, "fg"},
		{part, "g", 3, "none"},
		{part, "a", 7, "abcdefg"},
		{part, "a", 101, "none"},
	}
	for _, c := range cases {
		if got := users(c.head.around(c.user, c.limit)); got != c.want {
			t.Errorf("%d around %s of %d: %q, want %q", c.limit, c.user, c.head.page.Total, got, c.want)
		}
	}
}

func TestHeadStanding(t *testing.T) {
	whole, part := headOf(4, 9, 7, 7, 1), headOf(100, 9, 7, 7)
	first, firstPart := headWith(rankcore.TiesFirst, 4, 9, 7, 7, 1), headWith(rankcore.TiesFirst, 100, 9, 7, 7)
	cases := []struct {
		head *head
		user rankcore.UserID
		want string // rank, precision, tied, percentile
	}{
		{whole, "a", "1 exact 1 100"},
		{whole, "c", "2 exact 2 33.3333"},
		{whole, "d", "4 exact 1 0"},
		{part, "a", "1 exact 1 100"},
		{part, "b", "2 approx 0 97.9798"}, // who else has 7 is not known
		{first, "b", "2 exact 2 66.6667"},
		{first, "c", "3 exact 2 33.3333"},
		{firstPart, "c", "3 approx 0 97.9798"},
	}
	for _, c := range cases {
		st := c.head.standing(c.user)
		got := fmt.Sprint(st.Rank, " ", st.Precision, " ", st.Tied, " ", st.Percentile)
		if got != c.want || st.Low != st.Rank || st.High != st.Rank || st.User != c.user || st.Status != rankcore.Stale {
			t.Errorf("%s of %d: %s, %+v, want %s", c.user, c.head.page.Total, got, st, c.want)
		}
	}
	if st := part.standing("z"); st != nil {
		t.Errorf("without a row: %+v", st)
	}
	if !slices.IsSortedFunc(part.page.Entries, rankcore.Desc.Compare) {
		t.Error("the page was modified")
	}
}
