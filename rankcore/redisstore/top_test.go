package redisstore_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestTopIsASort: whatever the shards hold and however uneven, top is the sorted list's rows, ties included.
func TestTopIsASort(t *testing.T) {
	server := servers.Redis(t)
	store, n := open(t, server.URL), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b := board(rankcore.BoardID(fmt.Sprintf("top-%d", n)))
		b.Shards = rapid.SampledFrom([]int{1, 2, 8, 32}).Draw(rt, "shards")
		b.Order = rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order")
		crowded := rapid.Bool().Draw(rt, "all in one shard")
		var rows []rankcore.Entry
		var ops []rankcore.Op
		for i, score := range rapid.SliceOfN(rapid.Int64Range(-4, 4), 0, 150).Draw(rt, "scores") {
			if u := user(i); !crowded || b.Shard(u) == 0 {
				rows = append(rows, rankcore.Entry{User: u, Score: rankcore.Score(score)})
				ops = append(ops, set(u, score))
			}
		}
		newWriter(t, store, b).write(ops...)
		slices.SortFunc(rows, b.Order.Compare)
		rankcore.TiesShared.SetRanks(rows, 0, 0)
		q := rankcore.TopQuery{Board: b, Season: "all", Offset: rapid.IntRange(0, 40).Draw(rt, "offset"), Limit: rapid.IntRange(0, 60).Draw(rt, "limit")}
		page, err := store.Top(t.Context(), q)
		if err != nil {
			rt.Fatal(err)
		}
		want := rows[min(q.Offset, len(rows)):min(q.Offset+q.Limit, len(rows))]
		if page.Total != int64(len(rows)) || !slices.Equal(page.Entries, want) {
			rt.Fatalf("got %v of %d\nwant %v of %d", page.Entries, page.Total, want, len(rows))
		}
	})
}

// TestLimitsOfScores: ±(2^53-1) go in and come out exact, in both of Redis' encodings of a sorted set, and zero
// never as "-0".
func TestLimitsOfScores(t *testing.T) {
	server := servers.Redis(t)
	store := open(t, server.URL)
	for i, others := range []int{0, 500} {
		for _, order := range []rankcore.Order{rankcore.Desc, rankcore.Asc} {
			b := oneShard(rankcore.BoardID(fmt.Sprintf("limits-%d-%v", i, order)))
			b.Order = order
			w := newWriter(t, store, b)
			w.fill(others)
			scores := []int64{rankcore.MaxScore, rankcore.MaxScore - 1, 1<<52 + 1, 0, -1<<52 - 1, -rankcore.MaxScore + 1, -rankcore.MaxScore}
			for j, score := range scores {
				u := rankcore.UserID(fmt.Sprint("limit", j))
				w.write(add(u, score), add(u, -score), add(u, score))
				st, err := w.rank(u, rankcore.Exact)
				if err != nil || int64(st.Score) != score {
					t.Errorf("%v, %d others, %d: got %+v, %v", order, others, score, st, err)
				}
			}
			if got := server.Do("ZSCORE", fmt.Sprintf("rank:{%s:0}:all:main", b.ID), "limit3"); got != "0" {
				t.Errorf("%v, %d others: zero is stored as %v", order, others, got)
			}
			checkSegments(t, w, server)
		}
	}
}

// checkSegments holds a shard's segment counts against its scores.
func checkSegments(t *testing.T, w *writer, server *servers.RedisServer) {
	t.Helper()
	page, err := w.store.Top(t.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: math.MaxInt32})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, e := range page.Entries {
		want[fmt.Sprint(rankcore.SegmentOf(e.Score))]++
	}
	flat, _ := server.Do("HGETALL", fmt.Sprintf("rank:{%s:0}:all:segment", w.board.ID)).([]any)
	if len(flat) != 2*len(want) {
		t.Errorf("%d segments, want %d", len(flat)/2, len(want))
	}
	for i := 0; i+1 < len(flat); i += 2 {
		if name := fmt.Sprint(flat[i]); flat[i+1] != fmt.Sprint(want[name]) {
			t.Errorf("segment %s: %v, want %d", name, flat[i+1], want[name])
		}
	}
}

// TestSmallAndLarge: ten members are a listpack and a hundred thousand a skiplist; the ten at the top must not see
// any difference.
func TestSmallAndLarge(t *testing.T) {
	server := servers.Redis(t)
	store := open(t, server.URL)
	var answers []string
	for _, members := range []int{0, 100_000} {
		w := newWriter(t, store, oneShard(rankcore.BoardID(fmt.Sprint("size-", members))))
		w.fill(members)
		for i := range 10 {
			w.write(add(rankcore.UserID(fmt.Sprint("u", i)), 1<<45+int64(i/2)), add("u3", int64(i)))
		}
		answer := w.top(10)
		for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx} {
			st, err := w.rank("u3", p)
			if err != nil {
				t.Fatal(err)
			}
			answer += fmt.Sprintf("\n%v: %d within %d..%d, %d tied", p, st.Rank, st.Low, st.High, st.Tied)
		}
		answers = append(answers, answer)
	}
	if answers[0] != answers[1] {
		t.Errorf("with 10 members:\n%s\nwith 100,010:\n%s", answers[0], answers[1])
	}
}

// TestSegmentsInLua: the script numbers segments as rankcore does, at every edge of every power of two.
func TestSegmentsInLua(t *testing.T) {
	server := servers.Redis(t)
	for _, order := range []rankcore.Order{rankcore.Desc, rankcore.Asc} {
		b := oneShard(rankcore.BoardID(fmt.Sprint("segments-", order)))
		b.Order = order
		w := newWriter(t, open(t, server.URL), b)
		var ops []rankcore.Op
		for bit := range 53 {
			for _, near := range []int64{-2, -1, 0, 1, 2} {
				if score := int64(1)<<bit + near; rankcore.Score(score).InRange() {
					ops = append(ops, set(rankcore.UserID(fmt.Sprint("plus", score)), score), set(rankcore.UserID(fmt.Sprint("minus", score)), -score))
				}
			}
		}
		w.write(ops...)
		checkSegments(t, w, server)
	}
}
