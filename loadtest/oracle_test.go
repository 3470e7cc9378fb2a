package loadtest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

func quoted(u rankcore.UserID) string {
	text, err := json.Marshal(u)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func newBoard(change ...func(*rankcore.Board)) *rankcore.Board {
	b := &rankcore.Board{
		ID: "power", Shards: 1, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC, Head: 1000,
		Dedupe: 10 * time.Minute, Freshness: time.Second,
		Keep: map[rankcore.SeasonKind]time.Duration{
			rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour, rankcore.Month: 2160 * time.Hour,
		},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func first(b *rankcore.Board) { b.Update, b.Ties = rankcore.UpdateSet, rankcore.TiesFirst }

func everySeason(b *rankcore.Board) {
	b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day, rankcore.Week, rankcore.Month}
}

// drive puts a workload on the stub and returns what the board then shows otherwise than the oracle says.
func drive(t *testing.T, s *stub, seed uint64) []loadtest.Difference {
	t.Helper()
	client := s.client(t)
	oracle := loadtest.NewOracle(s.board)
	writers := loadtest.Writers{
		Workload: loadtest.Workload{Board: s.board, Seed: seed, Users: 12},
		Sender:   client, Oracle: oracle, Ledger: loadtest.NewLedger(), Count: 3, Batch: 20, Batches: 10,
	}
	if err := writers.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := writers.Acked(); got != 3*20*10 {
		t.Fatalf("%d operations acknowledged, want %d", got, 3*20*10)
	}
	comparison := loadtest.Comparison{Board: s.board, Oracle: oracle, Reader: client, Precision: rankcore.Exact}
	found, err := comparison.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOracleAgreesWithARightServer(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for name, board := range map[string]*rankcore.Board{
		"add":                    newBoard(),
		"set, decimals":          newBoard(func(b *rankcore.Board) { b.Update, b.Scale = rankcore.UpdateSet, 2 }),
		"best, lowest first":     newBoard(func(b *rankcore.Board) { b.Update, b.Order = rankcore.UpdateBest, rankcore.Asc }),
		"every season, in Paris": newBoard(everySeason, func(b *rankcore.Board) { b.Location = paris }),
		"whoever came first":     newBoard(first),
		"a top of 7":             newBoard(func(b *rankcore.Board) { b.Head = 7 }),
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				if found := drive(t, newStub(board), seed); len(found) > 0 {
					t.Fatalf("seed %d: %v", seed, found)
				}
			}
		})
	}
}

// Replies are lost after the operations were taken, or refused for now; the same ids are sent again.
func TestRetriesCountOnce(t *testing.T) {
	s := newStub(newBoard(everySeason))
	s.reply = func(w http.ResponseWriter, n int64) bool {
		switch n % 3 {
		case 0:
			panic(http.ErrAbortHandler) // closes the connection
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	if found := drive(t, s, 1); len(found) > 0 {
		t.Fatal(found)
	}
}

// Each of these servers is wrong in one way, and the comparison must say so.
func TestOracleCatches(t *testing.T) {
	everyTenth := func(times int) func(*rankcore.Op, int) int {
		return func(op *rankcore.Op, n int) int {
			if n%100 == 0 && op.Kind == rankcore.OpAdd { // batches end with the add of a probe
				return times
			}
			return 1
		}
	}
	for name, mutate := range map[string]func(*stub){
		"a lost operation":     func(s *stub) { s.broken = everyTenth(0) },
		"a doubled operation":  func(s *stub) { s.broken = everyTenth(2) },
		"a wrong order":        func(s *stub) { s.order = func(ops []rankcore.Op) { slices.Reverse(ops) } },
		"a forgotten removal":  func(s *stub) { s.broken = ignore(rankcore.OpRemove) },
		"a hidden user shown":  func(s *stub) { s.broken = ignore(rankcore.OpHide) },
		"a shown user hidden":  func(s *stub) { s.broken = ignore(rankcore.OpShow) },
		"an id not remembered": func(s *stub) { s.broken = func(op *rankcore.Op, _ int) int { op.ID = ""; s.forget(); return 1 } },
		"a rank wrong in ties": func(s *stub) {
			s.shown = func(rows []rankcore.Entry) {
				for i := range rows {
					rows[i].Rank = int64(i + 1)
				}
			}
		},
		"ties in the wrong order": func(s *stub) {
			s.shown = func(rows []rankcore.Entry) {
				for i := 1; i < len(rows); i++ {
					if rows[i].Score == rows[i-1].Score {
						rows[i], rows[i-1] = rows[i-1], rows[i]
						return
					}
				}
			}
		},
		"a score of one more": func(s *stub) { s.shown = func(rows []rankcore.Entry) { rows[len(rows)/2].Score++ } },
		"a ghost": func(s *stub) {
			s.scores["all"] = map[rankcore.UserID]rankcore.Score{"nobody": -rankcore.MaxScore}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(newBoard())
			mutate(s)
			if found := drive(t, s, 1); len(found) == 0 {
				t.Error("not caught")
			} else {
				t.Log(found[0])
			}
		})
	}
}

// The same where whoever came first stands ahead. Not every order of a tie can be told from outside, so any of some seeds
// will do.
func TestOracleCatchesWhoDidNotComeFirst(t *testing.T) {
	for name, mutate := range map[string]func(*stub){
		"ties by name": func(s *stub) { s.arrival = func(rankcore.Arrival) rankcore.Arrival { return 0 } },
		"the last one ahead": func(s *stub) {
			s.arrival = func(a rankcore.Arrival) rankcore.Arrival { return ^a }
		},
		"the same score again moves back": func(s *stub) { s.moved = true },
		"ties that share": func(s *stub) {
			s.shown = func(rows []rankcore.Entry) { rankcore.TiesShared.SetRanks(rows, 0, 0) }
		},
		"a rank of its own twice": func(s *stub) {
			s.shown = func(rows []rankcore.Entry) { rows[len(rows)-1].Rank-- }
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				s := newStub(newBoard(first))
				mutate(s)
				if found := drive(t, s, seed); len(found) > 0 {
					t.Log(found[0])
					return
				}
			}
			t.Error("not caught")
		})
	}
}

// What was acknowledged before another was sent came first, and so did what the same writer sent first; else nobody knows.
func TestOracleKnowsWhoSurelyCameFirst(t *testing.T) {
	b := newBoard(first)
	set := func(u rankcore.UserID, to rankcore.Score) rankcore.Op {
		return rankcore.Op{User: u, Kind: rankcore.OpSet, Value: to}
	}
	now := time.Now()
	for _, c := range []struct {
		shown string // the tie from its first member on
		right bool
	}{
		{"a b c d e", true},
		{"a b d c e", true},
		{"d a b c e", true},
		{"b a c d e", false},
		{"a b c e d", false},
		{"a d b e c", false},
		{"e a b c d", false},
	} {
		oracle := loadtest.NewOracle(b)
		one, two := oracle.Sending(1), oracle.Sending(2)
		one.Acked([]rankcore.Op{set("a", 1), set("b", 7), set("a", 7), set("b", 1), set("b", 7)}, now)
		one = oracle.Sending(1)
		two.Acked([]rankcore.Op{set("d", 7)}, now)
		one.Acked([]rankcore.Op{set("c", 7), set("b", 7)}, now)
		oracle.Sending(2).Acked([]rankcore.Op{set("e", 7)}, now)
		s := newStub(b)
		s.scores["all"], s.arrived["all"] = map[rankcore.UserID]rankcore.Score{}, map[rankcore.UserID]rankcore.Arrival{}
		for i, u := range strings.Fields(c.shown) {
			s.scores["all"][rankcore.UserID(u)], s.arrived["all"][rankcore.UserID(u)] = 7, rankcore.Arrival(i)
		}
		comparison := loadtest.Comparison{Board: b, Oracle: oracle, Reader: s.client(t), Precision: rankcore.Exact}
		if found, err := comparison.Once(t.Context()); err != nil || (len(found) == 0) != c.right {
			t.Errorf("%s: %v, %v; right is %v", c.shown, found, err, c.right)
		}
	}
}

func ignore(kind rankcore.OpKind) func(*rankcore.Op, int) int {
	return func(op *rankcore.Op, _ int) int {
		if op.Kind == kind {
			return 0
		}
		return 1
	}
}

// forget drops the id memory.
func (s *stub) forget() { clear(s.memory) }

func TestOracleOutcomes(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	o := loadtest.NewOracle(newBoard(everySeason))
	for i, c := range []struct {
		after time.Duration
		op    rankcore.Op
		want  rankcore.Outcome
	}{
		{0, rankcore.Op{ID: "1", User: "a", Kind: rankcore.OpAdd, Value: 5}, rankcore.Applied},
		{0, rankcore.Op{ID: "1", User: "a", Kind: rankcore.OpAdd, Value: 5}, rankcore.Duplicate},
		{0, rankcore.Op{ID: "1", User: "a", Kind: rankcore.OpSet, Value: 5}, rankcore.Conflict},
		{0, rankcore.Op{ID: "1", User: "b", Kind: rankcore.OpAdd, Value: 0}, rankcore.Applied},
		{0, rankcore.Op{ID: "2", User: "b", Kind: rankcore.OpAdd, Value: 0}, rankcore.Unchanged},
		{10 * time.Minute, rankcore.Op{ID: "1", User: "a", Kind: rankcore.OpAdd, Value: 5}, rankcore.Duplicate},
		{10*time.Minute + 1, rankcore.Op{ID: "1", User: "a", Kind: rankcore.OpAdd, Value: 5}, rankcore.Applied},
		{0, rankcore.Op{User: "a", Kind: rankcore.OpAdd, Value: rankcore.MaxScore - 9}, rankcore.OutOfRange},
		{0, rankcore.Op{User: "a", Kind: rankcore.OpAdd, Value: rankcore.MaxScore - 10}, rankcore.Applied},
		{0, rankcore.Op{User: "a", Kind: rankcore.OpHide}, rankcore.Applied},
		{0, rankcore.Op{User: "a", Kind: rankcore.OpHide}, rankcore.Unchanged},
		{0, rankcore.Op{User: "c", Kind: rankcore.OpShow}, rankcore.Unchanged},
		{0, rankcore.Op{User: "a", Kind: rankcore.OpRemove}, rankcore.Applied},
		{0, rankcore.Op{User: "a", Kind: rankcore.OpRemove}, rankcore.Unchanged},
	} {
		if got := o.Apply(c.op, start.Add(c.after)); got != c.want {
			t.Errorf("operation %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestSettleWaitsForABoardThatCatchesUp(t *testing.T) {
	s := newStub(newBoard())
	client := s.client(t)
	oracle := loadtest.NewOracle(s.board)
	op := rankcore.Op{ID: "1", User: "a", Kind: rankcore.OpAdd, Value: 1}
	oracle.Apply(op, time.Now())
	c := loadtest.Comparison{Board: s.board, Oracle: oracle, Reader: client}
	found, err := c.Once(t.Context())
	if err != nil || len(found) == 0 {
		t.Fatalf("%v, %v: want differences", found, err)
	}
	arrived := make(chan error)
	go func() {
		for s.asked.Load() < 10 { // a few comparisons later
			<-time.After(time.Millisecond)
		}
		arrived <- client.Send(context.Background(), s.board, []rankcore.Op{op})
	}()
	if found := c.Settle(t.Context()); len(found) > 0 {
		t.Error(found)
	}
	if err := <-arrived; err != nil {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	oracle.Apply(rankcore.Op{ID: "2", User: "a", Kind: rankcore.OpAdd, Value: 1}, time.Now())
	if found := c.Settle(short); len(found) == 0 || !strings.Contains(found[0].String(), "want {1 a 2}") {
		t.Errorf("settled on %v, want the row that differs", found)
	}
}
