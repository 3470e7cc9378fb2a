package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// testPages: ranks go on over pages, and ties across their edges neither skip nor repeat.
func testPages(t *testing.T, open Open) {
	boards := []*rankcore.Board{newBoard("pages"), newBoard("pages-asc", asc), newBoard("pages-one", func(b *rankcore.Board) { b.Shards = 1 })}
	s := open(t, boards...)
	for _, b := range boards {
		f := feed(t, s, b)
		var ops []rankcore.Op
		for i := range 300 { // ties of 1, 9 and 290
			ops = append(ops, add(userN(i), map[bool]int64{true: 5, false: int64(7 + 10*min(i, 1))}[i < 290]))
		}
		f.message(start.Add(time.Second), ops...)
		rows := f.model.ranking("all")
		for _, limit := range []int{1, 2, 7, 9, 10, 11, 299, 300, 301} {
			if err := f.checkWalk("all", rows, rankcore.ScoreRange{}, limit); err != nil {
				t.Fatal(err)
			}
		}
		for _, u := range []rankcore.UserID{rows[0].User, rows[1].User, rows[9].User, rows[10].User, rows[150].User, rows[298].User, rows[299].User} {
			for _, limit := range []int{1, 2, 11, rankcore.MaxAround} {
				if err := f.checkAround("all", rows, u, limit); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// testWalkDuringWrites: a member whose score does not change is met once, whoever moves around it, also when the
// row that a page ended with is gone.
func testWalkDuringWrites(t *testing.T, open Open) {
	b := newBoard("moving", set)
	s := open(t, b)
	f := feed(t, s, b)
	var ops []rankcore.Op
	for i := range 200 {
		ops = append(ops, kind(rankcore.OpSet, userN(i), int64(i/20)))
	}
	f.message(start.Add(time.Second), ops...)
	met := map[rankcore.UserID]int{}
	moved := map[rankcore.UserID]bool{}
	q := rankcore.RowsQuery{Board: b, Season: "all", Limit: 13}
	for step := 0; ; step++ {
		page, err := s.Rows(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		rows := f.model.ranking("all")
		for _, e := range page.Entries {
			if !slices.Contains(rows, e) {
				t.Fatalf("step %d: %+v is not what the board has", step, e)
			}
			met[e.User]++
		}
		if !page.More {
			break
		}
		last := page.Entries[len(page.Entries)-1]
		q.After = last.Place()
		up, down := userN(step*7%200), userN(step*11%200)
		f.message(start.Add(time.Minute), kind(rankcore.OpSet, up, 100+int64(step)), kind(rankcore.OpSet, down, -int64(step)),
			kind(rankcore.OpRemove, string(last.User), 0), kind(rankcore.OpSet, fmt.Sprint("new", step), int64(step%10)))
		moved[rankcore.UserID(up)], moved[rankcore.UserID(down)], moved[last.User] = true, true, true
	}
	for i := range 200 {
		if u := rankcore.UserID(userN(i)); !moved[u] && met[u] != 1 {
			t.Errorf("%s, who did not move, was met %d times", u, met[u])
		}
	}
}

// testMissingInBatch: a batch keeps the order asked and has a hole for whoever has no rank (CASE 13), hidden users
// included; places count those asked.
func testMissingInBatch(t *testing.T, open Open) {
	b := newBoard("batch", func(b *rankcore.Board) { b.Head = 4 })
	s := open(t, b)
	f := feed(t, s, b)
	f.message(start.Add(time.Second), add("a", 50), add("b", 50), add("c", 9000), add("d", 9001), add("e", 7), add("f", -7), add("hid", 60),
		kind(rankcore.OpHide, "hid", 0))
	batch, err := s.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: []rankcore.UserID{"e", "none", "b", "hid", "a", "c", "e"}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i, place := range batch.Places(b) {
		if st := batch.Users[i]; st != nil {
			got += fmt.Sprintf("%s %d/%d, ", st.User, st.Rank, place)
		} else {
			got += "-, "
		}
	}
	want := map[rankcore.Ties]string{
		rankcore.TiesShared: "e 5/4, -, b 3/2, -, a 3/2, c 2/1, e 5/4, ",
		rankcore.TiesFirst:  "e 5/4, -, b 4/3, -, a 3/2, c 2/1, e 5/4, ",
	}[b.Ties]
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	f.check("e", "none", "b", "hid", "a", "c", "d", "f")
}

// testFewest: an empty board is an empty list with total 0, and its only member is rank 1, percentile 100 (CASE 15).
func testFewest(t *testing.T, open Open) {
	b := newBoard("fewest")
	s := open(t, b)
	f := feed(t, s, b)
	f.check("only")
	f.message(start.Add(time.Second), add("only", -3))
	f.check("only", "other")
	batch, err := s.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: []rankcore.UserID{"only"}})
	if err != nil || batch.Users[0] == nil || batch.Users[0].Rank != 1 || batch.Users[0].Percentile != 100 || batch.Users[0].Tied != 1 {
		t.Errorf("the only member: %+v, %v", batch, err)
	}
	f.message(start.Add(time.Second), kind(rankcore.OpRemove, "only", 0))
	f.check("only")
}
