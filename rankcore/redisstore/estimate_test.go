package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// truth is the rank a score has among the others.
func truth(o rankcore.Order, scores map[rankcore.UserID]rankcore.Score, u rankcore.UserID, score rankcore.Score) int64 {
	rank := int64(1)
	for other, s := range scores {
		if other != u && o.Better(s, score) {
			rank++
		}
	}
	return rank
}

// TestEstimateHoldsTheTruth: the bounds contain the true rank at the aggregate's time, also for users whose scores
// have moved since then, anywhere.
func TestEstimateHoldsTheTruth(t *testing.T) {
	server := servers.Redis(t)
	store, n := open(t, server.URL), 0
	score := rapid.OneOf(rapid.Int64Range(-70, 70), rapid.Int64Range(-100_000, 100_000), rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore))
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b := board(rankcore.BoardID(fmt.Sprintf("estimate-%d", n)))
		b.Freshness = time.Hour // the first estimate's aggregate serves all
		b.Order = rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order")
		w := newWriter(t, store, b)
		counted := map[rankcore.UserID]rankcore.Score{}
		var ops []rankcore.Op
		for i, s := range rapid.SliceOfN(score, 1, 60).Draw(rt, "scores") {
			counted[user(i)] = rankcore.Score(s)
			ops = append(ops, set(user(i), s))
		}
		w.write(ops...)
		now := map[rankcore.UserID]rankcore.Score{}
		check := func(u rankcore.UserID) {
			st, err := w.rank(u, rankcore.Approx)
			if err != nil {
				rt.Fatal(err)
			}
			if want := truth(b.Order, counted, u, now[u]); st.Score != now[u] || st.Low > want || want > st.High || st.Rank < st.Low || st.Rank > st.High {
				rt.Fatalf("%s with %d: %+v, the true rank is %d", u, now[u], st, want)
			}
		}
		for u, s := range counted {
			now[u] = s
			check(u)
		}
		for _, s := range rapid.SliceOfN(score, 0, 30).Draw(rt, "later scores") {
			u := user(rapid.IntRange(0, 70).Draw(rt, "user"))
			now[u] = rankcore.Score(s)
			w.write(set(u, s))
			check(u)
		}
	})
}

// TestAutoIsExactInTheHead: where the user may stand in the head it is counted, elsewhere estimated.
func TestAutoIsExactInTheHead(t *testing.T) {
	server := servers.Redis(t)
	b := board("auto")
	b.Head = 100
	w := newWriter(t, open(t, server.URL), b)
	w.fill(5000)
	w.write(set("first", 1<<50), set("last", -1))
	for u, want := range map[rankcore.UserID]rankcore.Precision{"first": rankcore.Exact, "last": rankcore.Approx} {
		if st, err := w.rank(u, rankcore.Auto); err != nil || st.Precision != want {
			t.Errorf("%s: %+v, %v, want %v", u, st, err, want)
		}
	}
}
