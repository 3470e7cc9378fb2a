package loadtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rankgate/rankcore"
)

// stillUsers are on a still board: enough that many have not been asked about lately, and few enough to load quickly.
const stillUsers = 3000

// stillBoard is written once and then left alone. So it is known what every answer about it must say, however old the
// answer is: whoever is ranked better, or is missing, shows that a shard was left out.
func stillBoard() *rankcore.Board {
	return &rankcore.Board{
		ID: "still", Order: rankcore.Desc, Update: rankcore.UpdateSet, Shards: 32, Seasons: []rankcore.SeasonKind{rankcore.All},
		Location: time.UTC, Head: 200, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
}

// stillUser has the score stillScore; three share each.
func stillUser(i int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("still-%05d", i)) }
func stillScore(i int) rankcore.Score { return rankcore.Score(i / 3 * 10) }
func stillRank(i int) int64           { return int64(stillUsers - 3*(i/3+1) + 1) }
func stillOp(i int) rankcore.Op {
	return rankcore.Op{ID: fmt.Sprint(i), User: stillUser(i), Kind: rankcore.OpSet, Value: stillScore(i)}
}
func strangerOf(i int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("stranger-%d", i)) }
func stillTop(n int) []rankcore.Entry {
	rows := make([]rankcore.Entry, n)
	for at := range rows {
		tie := stillUsers/3 - 1 - at/3 // the best tie is that of the last users
		i := 3*tie + at%3
		rows[at] = rankcore.Entry{Rank: stillRank(i), User: stillUser(i), Score: stillScore(i)}
	}
	return rows
}

// stillBehind is how many rows stand before the i-th user's.
func stillBehind(i int) int { return stillUsers - 3*(i/3+1) + i%3 }

// fillStill writes the board and returns when it is there.
func fillStill(ctx context.Context, c *Client, b *rankcore.Board) error {
	for from := 0; from < stillUsers; from += rankcore.MaxOps {
		ops := make([]rankcore.Op, min(rankcore.MaxOps, stillUsers-from))
		for i := range ops {
			ops[i] = stillOp(from + i)
		}
		if err := c.Send(ctx, b, ops); err != nil {
			return err
		}
	}
	for {
		page, err := c.Top(ctx, rankcore.TopQuery{Board: b, Season: "all", Limit: b.Head})
		if err == nil && page.Status == rankcore.Fresh && page.Total == stillUsers {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("filling board %s: %w, at last %+v, %w", b.ID, ctx.Err(), page, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// wrongPage says what is wrong with the first rows of a still board, or "".
func wrongPage(p *rankcore.Page, n int) string {
	switch {
	case p.Status == rankcore.Updating:
		return ""
	case p.Total != stillUsers:
		return fmt.Sprintf("%s top of %d members, there are %d", p.Status, p.Total, stillUsers)
	case !slices.Equal(p.Entries, stillTop(n)):
		return fmt.Sprintf("%s top is not the one it always was: %v", p.Status, p.Entries)
	}
	return ""
}

// wrongRows says what is wrong with rows of a still board that are to begin behind so many others, or "".
func wrongRows(p *rankcore.Page, behind, n int) string {
	switch all := stillTop(min(behind+n, stillUsers)); {
	case p.Status == rankcore.Updating:
		return ""
	case p.Total != stillUsers:
		return fmt.Sprintf("%s rows of %d members, there are %d", p.Status, p.Total, stillUsers)
	case !slices.Equal(p.Entries, all[behind:]) || p.More != (len(all) < stillUsers):
		return fmt.Sprintf("%s rows behind %d others are not those that always were: %v", p.Status, behind, p.Entries)
	}
	return ""
}

// wrongBatch says what is wrong with where users of a still board are said to stand, or "".
func wrongBatch(b *rankcore.Standings, users []int) string {
	if b.Status == rankcore.Updating {
		return ""
	}
	for at, i := range users {
		if b.Users[at] == nil {
			return fmt.Sprintf("%s is not ranked in a batch that is %s", stillUser(i), b.Status)
		}
		if !b.Users[at].Known() { // one may be unknown where others are known
			if b.Status == rankcore.Fresh {
				return "a batch is fresh, but " + string(stillUser(i)) + " is unknown"
			}
			continue
		}
		if wrong := wrongStanding(b.Users[at], i); wrong != "" {
			return "in a batch " + wrong
		}
	}
	return ""
}

// wrongStanding says what is wrong with where the i-th user of a still board is said to stand, or "".
func wrongStanding(s *rankcore.Standing, i int) string {
	if s.Status == rankcore.Updating {
		return ""
	}
	rank := stillRank(i)
	exact := s.Precision == rankcore.Exact
	if s.Score != stillScore(i) || s.Total != stillUsers || s.Low > rank || s.High < rank || s.Rank < s.Low || s.Rank > s.High || exact && (s.Rank != rank || s.Tied != 3) {
		return fmt.Sprintf("%s stands at %d with %d, %s and %v: %+v", s.User, rank, stillScore(i), s.Status, s.Precision, s)
	}
	return ""
}
