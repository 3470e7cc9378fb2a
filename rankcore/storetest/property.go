package storetest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// propertyBoards is how many boards the property may use up: one a run, shrinking included.
const propertyBoards = 1500

// testModel: whatever is done to a board, every answer is the model's.
func testModel(t *testing.T, open Open) {
	kinds := [][]func(*rankcore.Board){{}, {asc}, {set}, {best}, {asc, best}, {daily}, {asc, set, daily}}
	boards := make([]*rankcore.Board, propertyBoards)
	for i := range boards {
		boards[i] = newBoard(fmt.Sprintf("model-%d", i), kinds[i%len(kinds)]...)
	}
	s := open(t, boards...)
	used := 0
	rapid.Check(t, func(rt *rapid.T) {
		if used == len(boards) {
			t.Fatal("every board is used up")
		}
		b := boards[used]
		used++
		f := feed(t, s, b)
		at := start
		op := anyOp(b)
		for range rapid.IntRange(1, 6).Draw(rt, "messages") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 7 * time.Minute, b.Dedupe, 13 * time.Minute, 26 * time.Hour}).Draw(rt, "pause"))
			f.message(at, rapid.SliceOfN(op, 0, 40).Draw(rt, "operations")...)
			f.check(users...)
		}
	})
}

var users = []string{"a", "b", "B", "ab", "é", "a/b", "{x}", "u:1", "用户", "z z", "0", "-1"}

// anyOp draws operations that meet one another: few users, few ids, scores that collide and that overflow.
func anyOp(b *rankcore.Board) *rapid.Generator[rankcore.Op] {
	update := []rankcore.OpKind{rankcore.UpdateAdd: rankcore.OpAdd, rankcore.UpdateSet: rankcore.OpSet, rankcore.UpdateBest: rankcore.OpBest}[b.Update]
	kinds := []rankcore.OpKind{update, update, update, update, rankcore.OpSet, rankcore.OpRemove, rankcore.OpHide, rankcore.OpShow}
	scores := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-5000, 5000),
		rapid.SampledFrom([]int64{rankcore.MaxScore, -rankcore.MaxScore, rankcore.MaxScore - 1, 1 << 40}))
	return rapid.Custom(func(rt *rapid.T) rankcore.Op {
		op := rankcore.Op{
			ID:   rapid.SampledFrom([]string{"", "", "1", "2", "3"}).Draw(rt, "id"),
			User: rankcore.UserID(rapid.SampledFrom(users).Draw(rt, "user")),
			Kind: rapid.SampledFrom(kinds).Draw(rt, "kind"),
		}
		if op.Kind.HasValue() {
			op.Value = rankcore.Score(scores.Draw(rt, "score"))
			if rapid.IntRange(0, 4).Draw(rt, "dated") == 0 {
				op.At = start.Add(time.Duration(rapid.IntRange(-50, 20).Draw(rt, "hours")) * time.Hour)
			}
		}
		return op
	})
}
