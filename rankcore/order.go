package rankcore

import "cmp"

// Entry is a member with its score and, where it was asked for, its rank (1 is first; 0 is not known).
type Entry struct {
	Rank    int64
	User    UserID
	Score   Score
	Arrival Arrival // when it reached the score; 0 where ties share
}

// Place is where the entry stands.
func (e Entry) Place() Place { return Place{Score: e.Score, Arrival: e.Arrival, User: e.User} }

// Key turns a score so that smaller keys stand first whatever the order. Stores keep keys, so that an
// ascending board is the mirror of a descending one by construction. Key is its own inverse.
func (o Order) Key(s Score) int64 {
	if o == Desc {
		return int64(-s)
	}
	return int64(s)
}

// Score is the score whose key is k.
func (o Order) Score(k int64) Score {
	if o == Desc {
		return Score(-k)
	}
	return Score(k)
}

// Better reports whether score a stands strictly before score b.
func (o Order) Better(a, b Score) bool { return o.Key(a) < o.Key(b) }

// Compare orders entries as every list shows them: better scores first, equal scores by arrival, and what arrived
// together by user id, bytes ascending. Where ties share, all arrivals are equal.
func (o Order) Compare(a, b Entry) int {
	if c := cmp.Compare(o.Key(a.Score), o.Key(b.Score)); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Arrival, b.Arrival); c != 0 {
		return c
	}
	return cmp.Compare(a.User, b.User)
}

// Ahead reports whether one entry has a better rank than another.
func (b *Board) Ahead(one, other Entry) bool {
	if b.Ties == TiesFirst {
		return b.Order.Compare(one, other) < 0
	}
	return b.Order.Better(one.Score, other.Score)
}

// SetRanks gives entries that stand in order their ranks. Where ties share, equal scores have one rank and the next
// rank counts everyone before it (1, 2, 2, 4); else every entry has its own (1, 2, 3, 4). better is how many members
// have a better score than the first entry, which only shared ties need, and before how many stand before it.
func (t Ties) SetRanks(entries []Entry, better, before int64) {
	for i := range entries {
		switch {
		case t == TiesFirst:
			entries[i].Rank = before + int64(i) + 1
		case i == 0:
			entries[i].Rank = better + 1
		case entries[i].Score == entries[i-1].Score:
			entries[i].Rank = entries[i-1].Rank
		default:
			entries[i].Rank = before + int64(i) + 1
		}
	}
}

// Percentile is the share of the other members that are strictly worse, in percent with 4 decimals.
// worse is their number and total counts the member itself. A board of one is 100.
func Percentile(worse, total int64) float64 {
	if total <= 1 {
		return 100
	}
	worse = min(max(worse, 0), total-1)
	return float64(int64(float64(worse)/float64(total-1)*1e6+0.5)) / 1e4
}
