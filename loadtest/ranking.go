package loadtest

import (
	"slices"
	"sort"
	"strings"
	"time"

	"rankgate/rankcore"
)

// Standings are what the board must show of one season: its ranked rows in order, and by user.
type Standings struct {
	Season  rankcore.SeasonID
	Rows    []rankcore.Entry // in a tie by id
	Members map[rankcore.UserID]Member
}

// Member is what must be said of a ranked user.
type Member struct {
	Score rankcore.Score
	Rank  int64 // 1 + the members strictly better; where whoever came first stands ahead, the first of the tie's ranks
	Tied  int64 // the members with this score, this one included
	Worse int64 // the members strictly worse

	arrived arrival
}

// Standings are the seasons an operation fell into that are kept at now and still will be after margin, in
// the order of their names.
func (o *Oracle) Standings(now time.Time, margin time.Duration) []Standings {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []Standings
	for _, s := range o.seasons {
		if s.keptAt(now.Add(margin)) {
			all = append(all, o.rank(s))
		}
	}
	slices.SortFunc(all, func(a, b Standings) int { return strings.Compare(string(a.Season), string(b.Season)) })
	return all
}

// Users is everybody an operation has named, ranked or not, in no order.
func (o *Oracle) Users() []rankcore.UserID {
	o.mu.Lock()
	defer o.mu.Unlock()
	users := make([]rankcore.UserID, 0, len(o.users))
	for u := range o.users {
		users = append(users, u)
	}
	return users
}

// rank puts a season in order and counts, for each distinct score, who is better, equal and worse.
func (o *Oracle) rank(season *oracleSeason) Standings {
	r := Standings{Season: season.id, Members: map[rankcore.UserID]Member{}}
	for u, s := range season.scores {
		if !o.hidden[u] {
			r.Rows = append(r.Rows, rankcore.Entry{User: u, Score: rankcore.Score(s)})
		}
	}
	sort.Slice(r.Rows, func(i, j int) bool {
		a, b := r.Rows[i], r.Rows[j]
		if a.Score != b.Score {
			return o.ahead(int64(a.Score), int64(b.Score))
		}
		return a.User < b.User
	})
	for i := 0; i < len(r.Rows); {
		end := i // behind the last row with this score
		for end < len(r.Rows) && r.Rows[end].Score == r.Rows[i].Score {
			end++
		}
		m := Member{Score: r.Rows[i].Score, Rank: int64(i + 1), Tied: int64(end - i), Worse: int64(len(r.Rows) - end)}
		for ; i < end; i++ {
			r.Rows[i].Rank = m.Rank
			m.arrived = season.arrived[r.Rows[i].User]
			r.Members[r.Rows[i].User] = m
		}
	}
	return r
}
