package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestRowsAreASort: whatever the shards hold and however uneven, rows from any place on are the sorted list's, and
// so are the rows around a user and the ranks of a batch; ties long and short.
func TestRowsAreASort(t *testing.T) {
	server := servers.Redis(t)
	store, n := open(t, server.URL), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b := board(rankcore.BoardID(fmt.Sprintf("rows-%d", n)))
		anew([]*rankcore.Board{b})
		b.Shards = rapid.SampledFrom([]int{1, 2, 8, 32}).Draw(rt, "shards")
		b.Order = rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order")
		b.Ties = rapid.SampledFrom([]rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst}).Draw(rt, "ties")
		b.Head = rapid.IntRange(1, 60).Draw(rt, "head")
		crowded := rapid.Bool().Draw(rt, "all in one shard")
		spread := rapid.SampledFrom([]int64{0, 1, 4, 5000}).Draw(rt, "spread")
		var rows []rankcore.Entry
		var ops []rankcore.Op
		for i, score := range rapid.SliceOfN(rapid.Int64Range(-spread, spread), 1, 200).Draw(rt, "scores") {
			if u := anyName(i); !crowded || b.Shard(u) == 0 {
				rows = append(rows, rankcore.Entry{User: u, Score: rankcore.Score(score)})
				ops = append(ops, set(u, score))
			}
		}
		w := newWriter(t, store, b)
		w.write(ops...)
		for i := range rows {
			rows[i].Arrival = w.arrival(w.at, i)
		}
		slices.SortFunc(rows, b.Order.Compare)
		b.Ties.SetRanks(rows, 0, 0)

		limit := rapid.IntRange(1, 60).Draw(rt, "limit")
		place := rankcore.Place{Score: rankcore.Score(rapid.Int64Range(-spread-1, spread+1).Draw(rt, "score")), User: anyName(rapid.IntRange(0, 210).Draw(rt, "user"))}
		if b.Ties == rankcore.TiesFirst {
			place.Arrival = w.arrival(w.at, rapid.IntRange(0, 210).Draw(rt, "arrival"))
		}
		page, err := store.Rows(t.Context(), rankcore.RowsQuery{Board: b, Season: "all", After: place, Limit: limit})
		if err != nil {
			rt.Fatal(err)
		}
		from := 0
		for from < len(rows) && b.Order.Compare(rows[from], rankcore.Entry{User: place.User, Score: place.Score, Arrival: place.Arrival}) <= 0 {
			from++
		}
		want := rows[from:min(from+limit, len(rows))]
		if page.Total != int64(len(rows)) || page.More != (from+limit < len(rows)) || !slices.Equal(page.Entries, want) {
			rt.Fatalf("after %v: got %v, more %v of %d\nwant %v of %d", place, page.Entries, page.More, page.Total, want, len(rows))
		}
		checkNeighbours(t, rt, store, b, rows, limit, place.User)
	})
}

// anyName are ids of many lengths that begin alike.
func anyName(i int) rankcore.UserID {
	name := fmt.Sprintf("%.*s%d", i%9, "player:xyz", i/3)
	if i%5 == 0 {
		name += "é\U0001F3C6"
	}
	return rankcore.UserID(name)
}

func checkNeighbours(t *testing.T, rt *rapid.T, store rankcore.Reader, b *rankcore.Board, rows []rankcore.Entry, limit int, u rankcore.UserID) {
	at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == u })
	page, err := store.Rows(t.Context(), rankcore.RowsQuery{Board: b, Season: "all", Around: u, Limit: limit})
	if at < 0 {
		if !errors.Is(err, rankcore.ErrNotRanked) {
			rt.Fatalf("around nobody: %v, %v", page, err)
		}
	} else {
		if err != nil {
			rt.Fatal(err)
		}
		from := max(min(at-limit/2, len(rows)-limit), 0)
		if want := rows[from:min(from+limit, len(rows))]; !slices.Equal(page.Entries, want) {
			rt.Fatalf("%d around %s: got %v\nwant %v", limit, u, page.Entries, want)
		}
	}
	users := []rankcore.UserID{u}
	for i := 0; i < len(rows); i += 1 + len(rows)/20 {
		users = append(users, rows[i].User)
	}
	batch, err := store.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: users})
	if err != nil {
		rt.Fatal(err)
	}
	for i, st := range batch.Users {
		at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == users[i] })
		switch {
		case (at < 0) != (st == nil):
			rt.Fatalf("%s: %+v", users[i], st)
		case st == nil:
		case st.Score != rows[at].Score || st.Low > rows[at].Rank || st.High < rows[at].Rank || rows[at].Rank <= int64(b.Head) && st.Rank != rows[at].Rank:
			rt.Fatalf("got %+v, want %+v with a head of %d", st, rows[at], b.Head)
		}
	}
}

// TestDepthCostsNothing: a page far down asks Redis for as much as one near the start, also inside a long tie; deep
// offsets, as others have them, would read everything before it (CASE 14).
func TestDepthCostsNothing(t *testing.T) {
	server := servers.Redis(t)
	b := board("depth")
	b.Shards = 8
	w := newWriter(t, open(t, server.URL), b)
	const members = 40_000
	var ops []rankcore.Op
	for i := range members { // the second half shares one score
		ops = append(ops, set(user(i), int64(members-min(i, members/2))))
	}
	w.write(ops...)
	cost := func(at int) (bytes float64) {
		t.Helper()
		q := rankcore.RowsQuery{Board: b, Season: "all", Limit: 100, After: rankcore.Place{Score: rankcore.Score(members - min(at, members/2)), User: user(at)}}
		before := info(t, server, "stats", "total_net_output_bytes")
		page, err := w.store.Rows(t.Context(), q)
		if err != nil || len(page.Entries) != 100 || page.Entries[0].User != user(at+1) || page.Entries[0].Rank != int64(min(at+1, members/2)+1) {
			t.Fatalf("after %d: %+v, %v", at, page, err)
		}
		return info(t, server, "stats", "total_net_output_bytes") - before
	}
	info(t, server, "stats", "total_net_output_bytes") // its own answer's size hardly changes from here on
	first := cost(10)
	for _, at := range []int{1000, members/2 - 200, members/2 + 5000, members - 200} {
		if deep := cost(at); deep > 2.5*first {
			t.Errorf("the page after row %d took %.0f bytes, the first ones %.0f", at, deep, first)
		}
	}
}
