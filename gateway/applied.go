package gateway

import (
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

// A Waiter waits for the applier of a board.
type Waiter interface {
	// Applied waits until the applier has passed a log message. An error, or an answer too early, costs a caller of
	// wait=applied some time, never a wrong result: outcomes are read from the shards.
	Applied(ctx context.Context, board rankcore.BoardID, at rankcore.Position) error

	// Included waits until every shard has taken in a log message, and tells since when that is known: whatever is
	// read from the shards later includes it. Too early a moment would break a promise; an error costs freshness.
	Included(ctx context.Context, board rankcore.BoardID, at rankcore.Position) (since time.Time, err error)
}

// Outcomes are what the shards remember of operations, in their order: OutcomeUnknown where nothing is, and
// Conflict where the id is remembered with other content.
type Outcomes interface {
	Outcomes(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error)
}

// A Floor makes a reader forget what it loaded before: after Floor returns, nothing older is served of board.
type Floor interface{ Floor(board rankcore.BoardID) }

// Bounds of wait=applied.
const (
	waitApplied = 5 * time.Second
	lookEvery   = 200 * time.Millisecond // however late the Waiter hears of it
	lookWithin  = time.Second
)

// results knows which operations of a request must turn out to be repetitions.
//
// The shards remember an operation's first outcome and not who asked, so a repetition cannot be told
// afterwards. It can be told before: an id that is remembered before the append was taken in before it, and
// the second of two equal ids in one request follows the first, because a message is applied in order. What
// stays open is a twin that was appended but not yet taken in when the memory was asked: both then report
// the outcome of the one that counted. A random id, given to an operation without one, repeats nothing.
type results struct {
	repeats []bool // by operation
}

// expect looks before the append. It returns nil when the memory cannot be asked: then no result can be told.
func (g *Gateway) expect(b *rankcore.Board, ops []rankcore.Op) *results {
	r := &results{repeats: make([]bool, len(ops))}
	var named []rankcore.Op
	var at []int // of named, in ops
	seen := make(map[rankcore.OpKey]struct{})
	for i := range ops {
		if ops[i].ID == "" {
			continue
		}
		key := ops[i].Key()
		if _, r.repeats[i] = seen[key]; r.repeats[i] {
			continue
		}
		seen[key] = struct{}{}
		named, at = append(named, ops[i]), append(at, i)
	}
	if len(named) == 0 {
		return r
	}
	remembered, err := g.look(context.Background(), b, named)
	if err != nil {
		return nil
	}
	for i, o := range remembered {
		r.repeats[at[i]] = o != rankcore.OutcomeUnknown
	}
	return r
}

// of are the results, once the shards remember every operation.
func (r *results) of(remembered []rankcore.Outcome) []rankcore.Outcome {
	for i, repeats := range r.repeats {
		if repeats && remembered[i] != rankcore.Conflict {
			remembered[i] = rankcore.Duplicate
		}
	}
	return remembered
}

// await waits until every operation is taken in, and tells what became of each. It gives up after 5 s, or
// when the gateway stops; where results cannot be told, only then: the caller asked to wait.
func (g *Gateway) await(b *rankcore.Board, ops []rankcore.Op, at Receipt, due *results) ([]rankcore.Outcome, bool) {
	ctx, cancel := context.WithTimeout(g.waits, waitApplied)
	defer cancel()
	if due == nil {
		<-ctx.Done()
		return nil, false
	}
	for {
		look, enough := context.WithTimeout(ctx, lookEvery)
		heard := g.cfg.Applied.Applied(look, b.ID, at.Name) == nil
		remembered, err := g.look(ctx, b, ops)
		if err == nil && !slices.Contains(remembered, rankcore.OutcomeUnknown) {
			enough()
			if g.cfg.Floor != nil {
				g.cfg.Floor.Floor(b.ID)
			}
			return due.of(remembered), true
		}
		if heard { // and not yet seen: not a reason to ask without a pause
			<-look.Done()
		}
		enough()
		if ctx.Err() != nil {
			return nil, false
		}
	}
}

// look reads the outcomes of ops.
func (g *Gateway) look(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	outcomes, err := g.cfg.Outcomes.Outcomes(ctx, b, ops)
	if err != nil {
		g.log.Debug("outcomes could not be read", "board", b.ID, "cause", err)
	}
	return outcomes, err
}
