package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// TestSickShardIsAskedApart: a shard at which a node stops answering costs the others one question, not all of them;
// when it is well again it is asked with them again.
func TestSickShardIsAskedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{address: "node", sentry: unguarded{}, suspects: suspects{until: map[shardID]time.Time{}}}
		b := &rankcore.Board{ID: "b", Shards: 8}
		sick := 5
		var mu sync.Mutex
		var asked []string
		ask := func() (missing []int) {
			asked = nil
			for i, a := range fanOut(t.Context(), s, nil, b, allShards(b), func(_ context.Context, _ redis.UniversalClient, shards []int) ([]answer[int], error) {
				mu.Lock()
				asked = append(asked, fmt.Sprint(shards))
				mu.Unlock()
				answers := make([]answer[int], len(shards))
				for i, shard := range shards {
					answers[i].value = shard
					if shard == sick {
						for ; i < len(shards); i++ {
							answers[i].err = context.DeadlineExceeded
						}
						return answers, context.DeadlineExceeded
					}
				}
				return answers, nil
			}) {
				if a.err != nil {
					missing = append(missing, i)
				} else if a.value != i {
					t.Errorf("shard %d: the answer of %d", i, a.value)
				}
			}
			slices.Sort(asked)
			return missing
		}
		expect := func(what string, missing []int, parts string) {
			t.Helper()
			if got := ask(); !slices.Equal(got, missing) || fmt.Sprint(asked) != parts {
				t.Errorf("%s: %v missing of %v, want %v of %s", what, got, asked, missing, parts)
			}
		}
		expect("at first", allShards(b), "[[0 1 2 3 4 5 6 7]]")
		expect("then", []int{5}, "[[0 1 2 3 4 6 7] [5]]")
		sick = -1
		expect("well again", nil, "[[0 1 2 3 4 6 7] [5]]")
		time.Sleep(suspectFor + time.Second)
		expect("for a while", nil, "[[0 1 2 3 4 5 6 7]]")
		sick = 0
		expect("a node that says nothing", allShards(b), "[[0 1 2 3 4 5 6 7]]")
		expect("is sick as a whole", allShards(b), "[[0 1 2 3 4 5 6 7]]")
	})
}

// TestSicknessOfNodes: what a node answers is no sickness unless it says that it cannot answer at all.
func TestSicknessOfNodes(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, redis.Nil: false, redis.ErrPoolTimeout: false, context.DeadlineExceeded: true, errors.New("reset"): true,
	} {
		if broken(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// TestStairsOfLastRows: the newest reading that reaches far enough is shown, and what no question can get is forgotten.
func TestStairsOfLastRows(t *testing.T) {
	var s staircase
	total := 0
	read := func(at, n int, all bool) {
		k := knownRows{asOf: time.Unix(int64(at), 0), list: make([]rankcore.Entry, n), reach: int64(n)}
		if all {
			k.reach = rankcore.MaxScore
		}
		total += s.add(k)
	}
	shown := func(n int) int64 {
		l := lastRows{seasons: map[seasonKey]*seasonRows{{}: {shards: []staircase{s}, outrun: make([]time.Time, 1)}}}
		if k := l.last(seasonKey{}, 0, &about{gap: rankcore.StartGap}, n, int64(n)); k != nil && k.reach >= int64(n) {
			return k.asOf.Unix()
		}
		return 0
	}
	for i, step := range []struct {
		at, n int
		all   bool
		stairs, rows,
		few, many int64 // when what is shown for 3 and for 30 rows was read
	}{
		{at: 1, n: 4, stairs: 1, rows: 4, few: 1},
		{at: 2, n: 40, stairs: 1, rows: 40, few: 2, many: 2},
		{at: 3, n: 4, stairs: 2, rows: 44, few: 3, many: 2},
		{at: 4, n: 4, stairs: 2, rows: 44, few: 4, many: 2},
		{at: 3, n: 50, stairs: 2, rows: 44, few: 4, many: 2}, // too late
		{at: 5, n: 10, stairs: 2, rows: 50, few: 5, many: 2},
		{at: 6, n: 2, all: true, stairs: 1, rows: 2, few: 6, many: 6},
	} {
		read(step.at, step.n, step.all)
		if int64(len(s)) != step.stairs || int64(total) != step.rows || shown(3) != step.few || shown(30) != step.many {
			t.Errorf("step %d: %d stairs of %d rows, %d and %d shown, want %+v", i, len(s), total, shown(3), shown(30), step)
		}
	}
	for i := range 100 {
		read(100+i, 1000-i, false)
	}
	if len(s) != mostLastSteps {
		t.Errorf("%d stairs", len(s))
	}
}

// TestOldRowsDoNotStandIn: rows of a shard that went on changing for long after they were read are of another time than
// what the other shards have; those of a shard that stood still are as good as new.
func TestOldRowsDoNotStandIn(t *testing.T) {
	const shards = 1
	key, begun := seasonKey{"b", "all"}, time.Now()
	changed := func(seq uint64) rankcore.Position { return rankcore.Position{Seq: seq, Time: int64(seq)} }
	after := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	l := lastRows{seasons: map[seasonKey]*seasonRows{}}
	read := func(seconds, rows int, seq uint64) {
		r := newRun("top", &rankcore.Board{ID: "b", Shards: shards}, "all", rankcore.StartGap, rows)
		r.slices[0] = slice{reading: reading{changed: changed(seq)}, forth: rowsOf(rows)}
		l.keep(r, after(seconds))
	}
	stands := func(rows int) int {
		if k := l.last(key, 0, &about{gap: rankcore.StartGap}, rows, rankcore.MaxScore); k != nil && len(k.list) >= rows {
			return int(k.asOf.Sub(begun) / time.Second)
		}
		return -1
	}
	expect := func(what string, few, many int) {
		t.Helper()
		if gotFew, gotMany := stands(2), stands(20); gotFew != few || gotMany != many {
			t.Errorf("%s: those of %d and %d stand in, want %d and %d", what, gotFew, gotMany, few, many)
		}
	}
	read(0, 20, 1)
	l.saw(key, 0, changed(1), after(100))
	expect("a shard that stood still", 0, 0)
	l.saw(key, 0, changed(2), after(101))
	expect("changed 101 s after", -1, -1)
	read(102, 20, 2)
	read(103, 2, 3)
	expect("changed between two readings", 103, 102)
	l.saw(key, 0, changed(4), after(105))
	expect("changed 2 s after one of them", 103, -1)
	l.saw(key, 0, changed(5), after(106))
	expect("changed on", -1, -1)
}

// rowsOf are the first n rows of more.
func rowsOf(n int) rows {
	list := make([]rankcore.Entry, n)
	for i := range list {
		list[i] = rankcore.Entry{Score: rankcore.Score(1000 - i), User: rankcore.UserID(fmt.Sprint(i))}
	}
	return rows{list: list}
}
