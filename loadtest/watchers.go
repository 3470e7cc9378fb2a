package loadtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"rankgate/rankcore"
)

// Watchers read a board while it is written to and while things fail, and hold every answer against a Witness of
// their own. The board must have the season all.
type Watchers struct {
	Board  *rankcore.Board
	Reader rankcore.Reader
	Ledger *Ledger
	Probes int           // the writers whose probes are asked about
	Count  int           // watchers
	Every  time.Duration // between two questions of one watcher
	Bound  time.Duration // see Witness; 0 is the board's freshness
	Seed   uint64

	mu         sync.Mutex // guards all below
	restarts   int
	answers    int64
	unanswered int64
	violations []string
}

// mostViolations are kept in words; one wrong thing is often seen a thousand times.
const mostViolations = 50

// Restarted tells that the gateway has been started again, and may show its last snapshot first.
func (w *Watchers) Restarted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restarts++
}

// Seen is what the watchers have found so far: the number of answers, of questions that got none because nobody
// was there to answer, and what was wrong, the first 50.
func (w *Watchers) Seen() (answers, unanswered int64, violations []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers, w.unanswered, append([]string(nil), w.violations...)
}

// Run watches until ctx ends.
func (w *Watchers) Run(ctx context.Context) {
	var running sync.WaitGroup
	for i := range w.Count {
		running.Go(func() { w.watch(ctx, rand.New(rand.NewPCG(w.Seed, uint64(i)))) })
	}
	running.Wait()
}

func (w *Watchers) watch(ctx context.Context, rng *rand.Rand) {
	witness := &Witness{Board: w.Board, Ledger: w.Ledger, Bound: w.Bound}
	timer := time.NewTimer(0)
	defer timer.Stop()
	known := 0
	for sleepUntil(ctx, timer, time.Now().Add(w.Every)) {
		if n := w.started(); n != known {
			witness.Restarted()
			known = n
		}
		var wrong string
		var err error
		if rng.IntN(4) == 0 {
			wrong, err = w.page(ctx, witness)
		} else {
			wrong, err = w.standing(ctx, witness, probeOf(rng.IntN(w.Probes)))
		}
		// An answer of the process before the restart may come in after the news of it.
		if n := w.started(); n != known {
			witness.Restarted()
			known = n
		}
		if ctx.Err() == nil {
			w.note(wrong, err)
		}
	}
}

func (w *Watchers) started() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.restarts
}

func (w *Watchers) page(ctx context.Context, witness *Witness) (wrong string, err error) {
	page, err := w.Reader.Top(ctx, rankcore.TopQuery{Board: w.Board, Season: "all", Limit: min(20, w.Board.Head)})
	if err != nil {
		return "", err
	}
	return witness.Page(page, 0), nil
}

func (w *Watchers) standing(ctx context.Context, witness *Witness, probe rankcore.UserID) (wrong string, err error) {
	asked := time.Now()
	s, err := w.Reader.Rank(ctx, rankcore.RankQuery{Board: w.Board, Season: "all", User: probe})
	switch {
	case errors.Is(err, rankcore.ErrNotRanked):
		return witness.NotRanked(probe, asked), nil
	case err != nil:
		return "", err
	}
	return witness.Standing(s, asked), nil
}

// note counts an answer. A problem document is a violation, since a read of a known board is always answered;
// no connection is not, since the process may just have been killed.
func (w *Watchers) note(wrong string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if problem := (*Problem)(nil); errors.As(err, &problem) {
		wrong, err = problem.Error(), nil
	}
	if err != nil {
		w.unanswered++
		return
	}
	w.answers++
	if wrong != "" && len(w.violations) < mostViolations {
		w.violations = append(w.violations, time.Now().Format("15:04:05.000 ")+wrong) // to be found in logs
	}
}
