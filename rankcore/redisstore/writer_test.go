package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/countindex"
	"rankgate/rankcore/redisstore"
)

// monday is the log time at which tests begin.
var monday = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func board(name rankcore.BoardID) *rankcore.Board {
	return &rankcore.Board{
		ID: name, Shards: 4, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
		Head: 1000, ExactDepth: 1_000_000, Dedupe: 24 * time.Hour, Freshness: time.Second,
	}
}

// writer feeds a board with steps as an applier would, without a log.
type writer struct {
	tb       testing.TB
	store    *redisstore.Store
	to       countindex.Steps // where steps go: the store, or an index on the way to it
	board    *rankcore.Board
	calendar *rankcore.Calendar
	at       rankcore.Position
	later    time.Duration // how far log time has gone on
	moves    bool          // ask what steps move
	rnd      *rand.Rand
}

// newWriter brings every shard to the log's first message.
func newWriter(tb testing.TB, s *redisstore.Store, b *rankcore.Board) *writer {
	tb.Helper()
	w := &writer{tb: tb, store: s, to: s, board: b, calendar: rankcore.NewCalendar(b), rnd: rand.New(rand.NewPCG(1, 2))}
	w.write()
	return w
}

// write takes the operations in as one message, on every shard.
func (w *writer) write(ops ...rankcore.Op) {
	w.tb.Helper()
	steps := w.steps(ops...)
	for i, r := range w.to.Apply(w.tb.Context(), w.board, steps) {
		if r.State != rankcore.StepApplied {
			w.tb.Fatalf("step of shard %d: %+v", i, r)
		}
	}
	w.at = steps[0].To
}

// steps makes the operations the next message: a step for each shard.
func (w *writer) steps(ops ...rankcore.Op) []rankcore.Step {
	to := rankcore.Position{Seq: w.at.Seq + 1, Time: monday.Add(w.later + time.Duration(w.at.Seq)*time.Millisecond).UnixNano()}
	steps := make([]rankcore.Step, w.board.Shards)
	for i := range steps {
		steps[i] = rankcore.Step{Shard: i, From: w.at, To: to, Moves: w.moves}
	}
	seasons := w.calendar.Seasons(to.At(), to.At())
	for i, op := range ops {
		shard := w.board.Shard(op.User)
		steps[shard].Ops = append(steps[shard].Ops, rankcore.PlacedOp{
			Op: op, Stored: to.At().UnixMilli(), Seasons: seasons,
			Arrival: w.arrival(to, i),
		})
	}
	return steps
}

// arrival is the arrival of the i-th operation. Tests write more than one message holds.
func (w *writer) arrival(to rankcore.Position, i int) rankcore.Arrival {
	return w.board.Arrival(monday, to.Seq*1000+uint64(i)/rankcore.MaxOps, i%rankcore.MaxOps)
}

// step takes one step and returns its result.
func (w *writer) step(s rankcore.Step) rankcore.StepResult {
	w.tb.Helper()
	return w.to.Apply(w.tb.Context(), w.board, []rankcore.Step{s})[0]
}

// fill gives n users scores spread like those of a real board: many low ones, few high ones.
func (w *writer) fill(n int) {
	w.tb.Helper()
	const chunk = 50_000
	for from := 0; from < n; from += chunk {
		var ops []rankcore.Op
		for i := from; i < min(from+chunk, n); i++ {
			ops = append(ops, set(user(i), int64(w.rnd.ExpFloat64()*1e6)))
		}
		w.write(ops...)
	}
}

// top is the first rows as "1 abe 9, 2 zoe 3".
func (w *writer) top(limit int) string {
	w.tb.Helper()
	page, err := w.store.Top(w.tb.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: limit})
	if err != nil {
		w.tb.Fatal(err)
	}
	var rows []string
	for _, e := range page.Entries {
		rows = append(rows, fmt.Sprint(e.Rank, " ", e.User, " ", int64(e.Score)))
	}
	return strings.Join(rows, ", ")
}

// rank asks where a user stands.
func (w *writer) rank(u rankcore.UserID, p rankcore.Precision) (*rankcore.Standing, error) {
	return w.store.Rank(w.tb.Context(), rankcore.RankQuery{Board: w.board, Season: "all", User: u, Precision: p})
}

// user is a 16 byte id.
func user(i int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("player:%09d", i)) }

func add(u rankcore.UserID, n int64) rankcore.Op {
	return rankcore.Op{User: u, Kind: rankcore.OpAdd, Value: rankcore.Score(n)}
}

func set(u rankcore.UserID, n int64) rankcore.Op {
	return rankcore.Op{User: u, Kind: rankcore.OpSet, Value: rankcore.Score(n)}
}

// keysOf are the names of a shard's keys on a server.
func keysOf(r *servers.RedisServer, b *rankcore.Board, shard int) []string {
	var names []string
	list, _ := r.Do("KEYS", fmt.Sprintf("rank:{%s:%d}:*", b.ID, shard)).([]any)
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	return names
}
