package redisstore_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// index is how many members stand at each key of each season of one shard: what an index that follows knows.
type index struct {
	at      rankcore.Position
	seasons map[rankcore.SeasonID]map[int64]int64
}

// follow takes a step's moves in, and tells whether they began where the index is.
func (x *index) follow(tb testing.TB, to rankcore.Position, m *rankcore.Moves) bool {
	tb.Helper()
	if m == nil || m.From != x.at {
		return false
	}
	for _, s := range m.Seasons {
		if s.Retired {
			delete(x.seasons, s.Season)
			continue
		}
		counts := x.seasons[s.Season]
		if counts == nil {
			counts = map[int64]int64{}
			x.seasons[s.Season] = counts
		}
		for _, move := range s.Moves {
			if move.Old == move.New {
				tb.Errorf("a move from %d to itself", move.Old)
			}
			if move.Old != rankcore.NoKey {
				counts[move.Old]--
			}
			if move.New != rankcore.NoKey {
				counts[move.New]++
			}
		}
		for key, n := range counts {
			if n == 0 {
				delete(counts, key)
			}
		}
		if len(counts) == 0 {
			delete(x.seasons, s.Season)
		}
	}
	x.at = to
	return true
}

// counted is the index that Redis itself would make of the only shard's sorted sets.
func counted(w *writer, server *servers.RedisServer) map[rankcore.SeasonID]map[int64]int64 {
	w.tb.Helper()
	seasons := map[rankcore.SeasonID]map[int64]int64{}
	for _, name := range keysOf(server, w.board, 0) {
		_, rest, _ := strings.Cut(name, "}:")
		season, found := strings.CutSuffix(rest, ":main")
		if !found {
			continue
		}
		counts := map[int64]int64{}
		flat, _ := server.Do("ZRANGE", name, "0", "-1", "WITHSCORES").([]any)
		for i := 1; i < len(flat); i += 2 {
			key, err := strconv.ParseInt(fmt.Sprint(flat[i]), 10, 64)
			if err != nil {
				w.tb.Fatal(err)
			}
			counts[key]++
		}
		seasons[rankcore.SeasonID(season)] = counts
	}
	return seasons
}

func sameIndex(a, b map[rankcore.SeasonID]map[int64]int64) bool {
	return maps.EqualFunc(a, b, maps.Equal[map[int64]int64, map[int64]int64])
}

// TestIndexFollows: whatever is done to a shard, an index that takes in what the steps moved is what the members are,
// also when every other answer is lost and the step is sent again.
func TestIndexFollows(t *testing.T) {
	server := servers.Redis(t)
	used := 0
	rapid.Check(t, func(rt *rapid.T) {
		used++
		b := oneShard(rankcore.BoardID(fmt.Sprint("follow-", used)))
		b.Order = rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order")
		b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day}
		b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: time.Hour}
		w := newWriter(t, open(t, server.URL), b)
		x := index{at: w.at, seasons: map[rankcore.SeasonID]map[int64]int64{}}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			w.later += rapid.SampledFrom([]time.Duration{0, time.Minute, 14 * time.Hour, 26 * time.Hour}).Draw(rt, "pause")
			step := w.steps(rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) rankcore.Op {
				kind := rapid.SampledFrom([]rankcore.OpKind{rankcore.OpAdd, rankcore.OpAdd, rankcore.OpSet, rankcore.OpRemove, rankcore.OpHide, rankcore.OpShow}).Draw(rt, "kind")
				op := rankcore.Op{User: user(rapid.IntRange(0, 9).Draw(rt, "user")), Kind: kind}
				if kind.HasValue() {
					op.Value = rankcore.Score(rapid.SampledFrom([]int64{0, 1, -1, 2, 5_000_000, rankcore.MaxScore}).Draw(rt, "value"))
				}
				return op
			}), 0, 30).Draw(rt, "operations")...)[0]
			step.Moves = true
			res := w.step(step)
			if res.State == rankcore.StepApplied && rapid.Bool().Draw(rt, "the answer is lost") {
				res = w.step(step)
			}
			if res.At != step.To || !x.follow(t, res.At, res.Moves) {
				rt.Fatalf("the index is at %v and cannot follow %+v", x.at, res)
			}
			w.at = step.To
			if want := counted(w, server); !sameIndex(x.seasons, want) {
				rt.Fatalf("the index: %v\nthe shard: %v", x.seasons, want)
			}
		}
	})
}

// TestMovesOfTheLastStepOnly: what a shard tells to a step that comes too late is what its last step moved, and nothing
// when nobody asked that one, or when it moved more than is kept.
func TestMovesOfTheLastStepOnly(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), oneShard("late"))
	take := func(ask bool, ops ...rankcore.Op) rankcore.StepResult {
		t.Helper()
		step := w.steps(ops...)[0]
		step.Moves = ask
		r := w.step(step)
		if r.State != rankcore.StepApplied || (r.Moves != nil) != ask {
			t.Fatalf("%+v, want applied, and moves: %v", r, ask)
		}
		w.at = step.To
		return r
	}
	late := w.steps(add("abe", 1))[0]
	told := func(what string, want string) {
		t.Helper()
		late.Moves = true
		r := w.step(late)
		got := "nothing"
		if r.Moves != nil {
			got = fmt.Sprint(r.Moves.From.Seq, r.Moves.Seasons)
		}
		if r.State != rankcore.StepAt || r.At != w.at || got != want {
			t.Errorf("%s: %+v tells %s, want %s", what, r, got, want)
		}
		if late.Moves = false; w.step(late).Moves != nil {
			t.Errorf("%s: told to whom did not ask", what)
		}
	}
	take(false, add("abe", 1))
	told("nobody asked", "nothing")
	take(true, add("abe", 1))
	told("asked", "2 [{all false [{-1 -2}]}]")
	take(true)
	told("an empty step", "3 []")
	if keys := keysOf(server, w.board, 0); strings.Contains(fmt.Sprint(keys), ":moves") {
		t.Errorf("nothing moved, and it has a key: %v", keys)
	}
	take(true, add("zoe", 1))
	told("asked again", fmt.Sprintf("4 [{all false [{%d -1}]}]", rankcore.NoKey))
	server.Do("DEL", "rank:{late:0}:moves")
	server.Do("HSET", "rank:{late:0}:moves", "poison", "1")
	told("a key of another type", "nothing")
	take(true, add("zoe", 1))
	told("put right", "5 [{all false [{-1 -2}]}]")
	take(false, add("zoe", 1))
	told("nobody asked since", "nothing")
	var many []rankcore.Op
	for i := range 3000 {
		many = append(many, add(user(i), int64(i)))
	}
	if r := take(true, many...); len(r.Moves.Seasons) != 1 || len(r.Moves.Seasons[0].Moves) != len(many) {
		t.Errorf("many moves: %d seasons", len(r.Moves.Seasons))
	}
	told("too many", "nothing")
}
