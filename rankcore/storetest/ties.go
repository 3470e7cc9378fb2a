package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// testFirst: in a tie whoever reached the score first stands ahead, by log order alone (CASES 2 to 6). A write that
// changes nothing moves nobody, and one that leaves the score and comes back begins at the tie's end.
func testFirst(t *testing.T, open Open) {
	boards := []*rankcore.Board{newBoard("first"), newBoard("first-asc", asc), newBoard("first-best", best), newBoard("first-asc-best", asc, best)}
	s := open(t, boards...)
	at := start.Add(time.Minute)
	score := func(b *rankcore.Board, user string, n int64) rankcore.Op {
		if b.Order == rankcore.Asc {
			n = -n
		}
		if b.Update == rankcore.UpdateBest {
			return kind(rankcore.OpBest, user, n)
		}
		return kind(rankcore.OpSet, user, n)
	}
	for _, b := range boards {
		f := feed(t, s, b)
		stand := func(what, want string) {
			t.Helper()
			f.check("a", "b", "c", "m", "z")
			got := ""
			for _, e := range f.model.ranking("all") {
				got += fmt.Sprintf("%s%d ", e.User, e.Rank)
			}
			if got != want {
				t.Fatalf("%s: %s: %s, want %s", b.ID, what, got, want)
			}
		}
		earlier := score(b, "a", 7)
		earlier.At = start.Add(-20 * time.Hour)
		f.expect(at, rankcore.Applied, score(b, "z", 7), score(b, "m", 7))
		f.expect(at.Add(-time.Second), rankcore.Applied, with("1", earlier)) // the log's clock and the caller's are earlier
		stand("a smaller id and an earlier time do not overtake", "z1 m2 a3 ")
		f.expect(at, rankcore.Unchanged, score(b, "z", 7), kind(rankcore.OpSet, "m", int64(score(b, "m", 7).Value)))
		f.expect(at, rankcore.Duplicate, with("1", earlier))
		if b.Update == rankcore.UpdateBest {
			f.expect(at, rankcore.Unchanged, score(b, "z", 6), score(b, "m", -1))
		} else {
			f.expect(at, rankcore.Unchanged, add("z", 0), add("m", 0))
			f.expect(at, rankcore.OutOfRange, add("m", int64(score(b, "m", 1).Value)*rankcore.MaxScore))
		}
		stand("what changes nothing moves nobody", "z1 m2 a3 ")
		f.expect(at, rankcore.Applied, kind(rankcore.OpHide, "z", 0))
		stand("hidden", "m1 a2 ")
		f.expect(at, rankcore.Unchanged, score(b, "z", 7))
		f.expect(at, rankcore.Applied, kind(rankcore.OpShow, "z", 0))
		stand("shown again with the score unchanged", "z1 m2 a3 ")
		f.expect(at, rankcore.Applied, kind(rankcore.OpHide, "z", 0), kind(rankcore.OpSet, "z", 0), score(b, "z", 7), kind(rankcore.OpShow, "z", 0))
		stand("shown after the score had changed", "m1 a2 z3 ")
		f.expect(at, rankcore.Applied, kind(rankcore.OpSet, "m", 0), score(b, "m", 7))
		stand("back at the score within one message", "a1 z2 m3 ")
		f.expect(at, rankcore.Applied, kind(rankcore.OpRemove, "a", 0), score(b, "a", 7))
		stand("removed and made anew", "z1 m2 a3 ")
		f.expect(at, rankcore.Applied, score(b, "b", 8), score(b, "c", 9), score(b, "b", 9), score(b, "z", 9))
		stand("better scores stand ahead of any arrival", "c1 b2 z3 m4 a5 ")
	}
}

// testFedOtherwise: the same messages in other batches, or fed again to shards that were emptied, give the same board.
func testFedOtherwise(t *testing.T, open Open) {
	apart, whole := newBoard("fed-apart", daily), newBoard("fed-whole", daily)
	s := open(t, apart, whole)
	f, g := feed(t, s, apart), feed(t, s, whole)
	random := rand.New(rand.NewPCG(1, 2))
	steps := make([]rankcore.Step, whole.Shards)
	for i := range steps {
		steps[i] = rankcore.Step{Shard: i, From: g.at}
	}
	for range 12 {
		ops := make([]rankcore.Op, 30)
		for i := range ops {
			k := []rankcore.OpKind{rankcore.OpAdd, rankcore.OpSet, rankcore.OpAdd, rankcore.OpSet, rankcore.OpHide, rankcore.OpShow, rankcore.OpRemove}[random.IntN(7)]
			ops[i] = kind(k, userN(random.IntN(20)), 0)
			if k.HasValue() {
				ops[i].Value = rankcore.Score(random.IntN(3) - 1)
			}
		}
		f.message(start.Add(time.Second), ops...)
		for _, op := range g.place(f.at, ops) {
			shard := whole.Shard(op.User)
			steps[shard].Ops = append(steps[shard].Ops, op)
			steps[shard].To = f.at
		}
	}
	for i := range steps {
		steps[i].To = f.at
	}
	for _, r := range s.Apply(t.Context(), whole, steps) {
		if r.State != rankcore.StepApplied {
			t.Fatalf("the whole at once: %+v", r)
		}
	}
	for _, season := range []rankcore.SeasonID{"all", "day:2026-11-30"} {
		var rows [2][]rankcore.Entry
		for i, b := range []*rankcore.Board{apart, whole} {
			page, err := s.Top(t.Context(), rankcore.TopQuery{Board: b, Season: season, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			rows[i] = page.Entries
		}
		if !slices.Equal(rows[0], rows[1]) || len(rows[0]) < 10 {
			t.Errorf("%s: message by message\n%v\nat once\n%v", season, rows[0], rows[1])
		}
	}
}

// longTie is how many members share a score in the test of that.
const longTie = 100_000

// testLongTie: nearly everybody has the same score, and every answer stays right wherever in the tie it is.
func testLongTie(t *testing.T, open Open) {
	b := newBoard("long-tie", func(b *rankcore.Board) { b.Shards = 8 })
	s := open(t, b)
	f := feed(t, s, b)
	users := rand.New(rand.NewPCG(1, 2)).Perm(longTie) // ids tell nothing of the order
	for chunk := range slices.Chunk(users, rankcore.MaxOps) {
		ops := make([]rankcore.Op, len(chunk))
		for i, u := range chunk {
			ops[i] = add(tieUser(u), 7)
		}
		f.message(start.Add(time.Second), ops...)
	}
	f.message(start.Add(time.Second), add("ahead", 8), add("behind", 6))
	rows := f.model.ranking("all")
	if err := f.checkWalk("all", rows, rankcore.ScoreRange{}, rankcore.MaxRows); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, i := range []int{0, 1, 2, 999, 1000, 1001, longTie / 3, longTie / 2, longTie - 1, longTie, longTie + 1} {
		u := rows[i].User
		asked = append(asked, string(u))
		if err := f.checkRank("all", u, rows, i); err != nil {
			t.Fatal(err)
		}
		if err := f.checkAround("all", rows, u, 11); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.checkBatch("all", rows, asked); err != nil {
		t.Fatal(err)
	}
}

func tieUser(i int) string { return fmt.Sprintf("t%06d", i) }
