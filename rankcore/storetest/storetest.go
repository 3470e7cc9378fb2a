package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// Store is what the suite drives: the shards as the applier writes them and as readers read them.
type Store interface {
	rankcore.Reader
	// Positions tells where every shard is, in order: StepAt, StepDamaged or StepFailed.
	Positions(ctx context.Context, b *rankcore.Board) []rankcore.StepResult
	// Apply takes at most one step for each shard and answers each in order.
	Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult
	// Reset empties a shard that is not whole, and nothing else.
	Reset(ctx context.Context, b *rankcore.Board, shard int) error
	// Outcomes tells what became of operations with ids.
	Outcomes(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error)
}

// Open makes a store that holds the given boards, empty, and closes it when the test ends.
type Open func(t *testing.T, boards ...*rankcore.Board) Store

// Run runs the suite, once for each rule for ties.
func Run(t *testing.T, open Open) {
	for _, ties := range []rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst} {
		t.Run(ties.String(), func(t *testing.T) { RunTies(t, ties, open) })
	}
}

// RunTies runs the suite on boards with this rule for ties.
func RunTies(t *testing.T, ties rankcore.Ties, open Open) {
	run := open
	open = func(t *testing.T, boards ...*rankcore.Board) Store {
		t.Helper()
		for _, b := range boards {
			b.Ties = ties
		}
		return run(t, boards...)
	}
	if ties == rankcore.TiesFirst {
		t.Run("WhoeverReachedItFirstStandsAhead", func(t *testing.T) { testFirst(t, open) })
		t.Run("NoDifferenceByHowItWasFed", func(t *testing.T) { testFedOtherwise(t, open) })
	}
	t.Run("LongTie", func(t *testing.T) { testLongTie(t, open) })
	t.Run("Steps", func(t *testing.T) { testSteps(t, open) })
	t.Run("Scores", func(t *testing.T) { testScores(t, open) })
	t.Run("Ids", func(t *testing.T) { testIDs(t, open) })
	t.Run("IdsOfAShortHorizon", func(t *testing.T) { testShortHorizon(t, open) })
	t.Run("Hidden", func(t *testing.T) { testHidden(t, open) })
	t.Run("Seasons", func(t *testing.T) { testSeasons(t, open) })
	t.Run("PagesKeepRanksAcrossTies", func(t *testing.T) { testPages(t, open) })
	t.Run("WalkDuringWritesMeetsEverybodyOnce", func(t *testing.T) { testWalkDuringWrites(t, open) })
	t.Run("BatchKeepsOrderAndHoles", func(t *testing.T) { testMissingInBatch(t, open) })
	t.Run("EmptyBoardAndOnlyMember", func(t *testing.T) { testFewest(t, open) })
	t.Run("Sizes", func(t *testing.T) { testSizes(t, open) })
	t.Run("Model", func(t *testing.T) { testModel(t, open) })
}

// start is the log time of the suite's first message, a Monday.
var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// newBoard is a small board; changes adjust it.
func newBoard(name string, changes ...func(*rankcore.Board)) *rankcore.Board {
	b := &rankcore.Board{
		ID: rankcore.BoardID(name), Shards: 4, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
		Keep: map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour, rankcore.Month: 2160 * time.Hour},
		Head: 1000, ExactDepth: 1_000_000, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
	for _, change := range changes {
		change(b)
	}
	return b
}

func asc(b *rankcore.Board)   { b.Order = rankcore.Asc }
func set(b *rankcore.Board)   { b.Update = rankcore.UpdateSet }
func first(b *rankcore.Board) { b.Ties = rankcore.TiesFirst }
func best(b *rankcore.Board)  { b.Update = rankcore.UpdateBest }
func daily(b *rankcore.Board) {
	b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day, rankcore.Week}
}

// feeder is an applier without a log: it places operations, steps the shards, and folds them into the model.
type feeder struct {
	t        testing.TB
	store    Store
	board    *rankcore.Board
	calendar *rankcore.Calendar
	at       rankcore.Position
	model    *model
	lists    int // how often lists were checked
}

func feed(t testing.TB, s Store, b *rankcore.Board) *feeder {
	f := &feeder{t: t, store: s, board: b, calendar: rankcore.NewCalendar(b), model: newModel(b)}
	f.at = rankcore.Position{}
	f.message(start)
	return f
}

// message appends one message at the given time and takes it in on every shard, as a batch of one.
// It returns the outcomes in order, having held them against the model's.
func (f *feeder) message(at time.Time, ops ...rankcore.Op) []rankcore.Outcome {
	f.t.Helper()
	to := rankcore.Position{Seq: f.at.Seq + 1, Time: at.UnixNano()}
	steps, origin := f.steps(to, ops)
	outcomes := make([]rankcore.Outcome, len(ops))
	for i, r := range f.store.Apply(f.t.Context(), f.board, steps) {
		if r.State != rankcore.StepApplied || r.At != to || len(r.Outcomes) != len(steps[i].Ops) {
			f.t.Fatalf("step of shard %d to %v: got %+v", i, to, r)
		}
		for j, o := range r.Outcomes {
			outcomes[origin[i][j]] = o
		}
	}
	f.at = to
	if want := f.model.take(to, f.place(to, ops)); !slices.Equal(outcomes, want) {
		f.t.Fatalf("outcomes of %+v:\n got %v\nwant %v", ops, outcomes, want)
	}
	return outcomes
}

// steps splits operations over the shards; origin tells where each stood.
func (f *feeder) steps(to rankcore.Position, ops []rankcore.Op) (steps []rankcore.Step, origin [][]int) {
	steps = make([]rankcore.Step, f.board.Shards)
	origin = make([][]int, f.board.Shards)
	for i := range steps {
		steps[i] = rankcore.Step{Shard: i, From: f.at, To: to}
	}
	for i, op := range f.place(to, ops) {
		s := f.board.Shard(op.User)
		steps[s].Ops = append(steps[s].Ops, op)
		origin[s] = append(origin[s], i)
	}
	return steps, origin
}

func (f *feeder) place(to rankcore.Position, ops []rankcore.Op) []rankcore.PlacedOp {
	placed := make([]rankcore.PlacedOp, len(ops))
	for i, op := range ops {
		placed[i] = rankcore.PlacedOp{Op: op, Stored: to.At().UnixMilli(), Arrival: f.board.Arrival(start, to.Seq, i)}
		if !op.Kind.HasValue() {
			continue
		}
		when := to.At()
		if !op.At.IsZero() {
			when = op.At
		}
		placed[i].Seasons = f.calendar.Seasons(when, to.At())
	}
	return placed
}

// expect fails unless message's outcomes are as given.
func (f *feeder) expect(at time.Time, want rankcore.Outcome, ops ...rankcore.Op) {
	f.t.Helper()
	for i, got := range f.message(at, ops...) {
		if got != want {
			f.t.Fatalf("%s %s %d: got %v, want %v", ops[i].User, ops[i].Kind, ops[i].Value, got, want)
		}
	}
}

func add(user string, n int64) rankcore.Op {
	return rankcore.Op{User: rankcore.UserID(user), Value: rankcore.Score(n)}
}

func with(id string, op rankcore.Op) rankcore.Op {
	op.ID = id
	return op
}

func kind(k rankcore.OpKind, user string, n int64) rankcore.Op {
	return rankcore.Op{User: rankcore.UserID(user), Kind: k, Value: rankcore.Score(n)}
}

func userN(i int) string { return fmt.Sprintf("u%d", i) }
