package redisstore_test

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestRanksByTheIndexAreASort is the small form; make ranks has the long one.
func TestRanksByTheIndexAreASort(t *testing.T) { ranksAreASort(t, 20_000, 16) }

// ranksAreASort asks for the exact rank of every member of a board through a count index, and holds each against a sort of
// all scores. Three in four members share one of a thousand scores, and one in eight one of three.
func ranksAreASort(t *testing.T, members, shards int) {
	server := servers.Redis(t)
	b := board("sorted")
	b.Shards = shards
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	rows := make([]rankcore.Entry, members)
	for i := range rows {
		score := w.rnd.Int64N(1000)
		switch w.rnd.IntN(8) {
		case 0, 1:
			score = int64(w.rnd.ExpFloat64() * 1e6)
		case 2:
			score = w.rnd.Int64N(3)
		}
		rows[i] = rankcore.Entry{User: user(i), Score: rankcore.Score(score)}
	}
	for chunk := range slices.Chunk(rows, 50_000) {
		ops := make([]rankcore.Op, len(chunk))
		for i, e := range chunk {
			ops[i] = set(e.User, int64(e.Score))
		}
		w.write(ops...)
	}
	slices.SortFunc(rows, func(p, q rankcore.Entry) int { return cmp.Compare(q.Score, p.Score) })
	tied := map[rankcore.Score]int64{}
	for i := range rows {
		rows[i].Rank = int64(i) + 1
		if i > 0 && rows[i].Score == rows[i-1].Score {
			rows[i].Rank = rows[i-1].Rank
		}
		tied[rows[i].Score]++
	}
	x.ready(b)
	server.Do("CONFIG", "RESETSTAT")
	began := time.Now()
	var next, wrong atomic.Int64
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(members) || wrong.Load() > 10 {
					return
				}
				e := rows[i]
				st, err := x.Store.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: e.User, Precision: rankcore.Exact})
				if err != nil || st.Rank != e.Rank || st.Score != e.Score || st.Tied != tied[e.Score] || st.Total != int64(members) || st.Precision != rankcore.Exact {
					wrong.Add(1)
					t.Errorf("%+v, %v, want %+v with %d tied", st, err, e, tied[e.Score])
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { asking.Wait(); close(done) }()
	for beat := time.NewTicker(500 * time.Millisecond); ; { // the heartbeat that keeps an index current
		select {
		case <-beat.C:
			x.Positions(t.Context(), b)
			continue
		case <-done:
			beat.Stop()
		}
		break
	}
	t.Logf("%d ranks of %d members with %d scores on %d shards, %d wrong, in %v", members, members, len(tied), shards, wrong.Load(), time.Since(began).Round(time.Millisecond))
	byShards := calls(server, "zcount") / (2 * shards)
	if t.Logf("%d of them counted on the shards", byShards); byShards > members/2 {
		t.Error("the index answered few of them")
	}
}
