package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestBatchIsExactInAHeadThatGrew: how far the head is read for a batch follows from segment counts, which may be older
// than it. Who has been pushed behind those rows, but not out of the head, is answered exactly all the same.
func TestBatchIsExactInAHeadThatGrew(t *testing.T) {
	server := servers.Redis(t)
	store := open(t, server.URL)
	for _, ties := range []rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst} {
		b := board(rankcore.BoardID("grown-" + ties.String()))
		b.Ties, b.Freshness = ties, time.Hour // the first batch's counts serve the second
		w := newWriter(t, store, b)
		w.write(set("a", 3), set("b", 3), set("last", 1))
		checkBatch(t, w, map[rankcore.UserID]int64{"last": 3})
		var ops []rankcore.Op
		for i := range 20 {
			ops = append(ops, set(rankcore.UserID(fmt.Sprintf("better%d", i)), 5))
		}
		w.write(ops...)
		checkBatch(t, w, map[rankcore.UserID]int64{"last": 23, "a": 21})
	}
}

func checkBatch(t *testing.T, w *writer, want map[rankcore.UserID]int64) {
	t.Helper()
	q := rankcore.RanksQuery{Board: w.board, Season: "all"}
	for u := range want {
		q.Users = append(q.Users, u)
	}
	batch, err := w.store.Ranks(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range batch.Users {
		if st.Precision != rankcore.Exact || st.Rank != want[st.User] {
			t.Errorf("%s: %s is %v %d of %d, want exactly %d", w.board.ID, st.User, st.Precision, st.Rank, st.Total, want[st.User])
		}
	}
}
