package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"rankgate/rankcore"
)

const (
	stillReaders = 4
	stillRows    = 20
	stillAround  = 11
	stillBatch   = 5
	freshAsks    = 24 // users whose rank must be fresh, on as many shards as they happen to live on
)

// StillReport is what readers of a still board saw while things failed around it.
type StillReport struct {
	Answers     map[rankcore.Status]int64 `json:"answers"`
	CachedP99   float64                   `json:"cached_p99_ms"`   // the same few rows, asked for all the time
	UncachedP99 float64                   `json:"uncached_p99_ms"` // ranks of users who were not asked about lately
	Recovery    map[string]float64        `json:"recovery_seconds"`
	Goroutines  [2]float64                `json:"goroutines"` // of gateway and core, before the faults, and after them
	Files       [2]float64                `json:"open_files"` // likewise; most of them are connections
}

// stillWatch reads a still board and holds every answer against what it always was.
type stillWatch struct {
	board  *rankcore.Board
	client *Client
	seed   uint64

	mu           sync.Mutex // guards all below
	asOf         map[string]time.Time
	answers      map[rankcore.Status]int64
	cached, cold *hdrhistogram.Histogram
	violations   []string
	unanswered   int64
}

func newStillWatch(b *rankcore.Board, c *Client, seed uint64) *stillWatch {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest.Microseconds(), 3) }
	return &stillWatch{
		board: b, client: c, seed: seed, asOf: map[string]time.Time{}, answers: map[rankcore.Status]int64{},
		cached: histogram(), cold: histogram(),
	}
}

// run reads until ctx ends.
func (w *stillWatch) run(ctx context.Context) {
	var running sync.WaitGroup
	for i := range stillReaders {
		rng := rand.New(rand.NewPCG(w.seed, uint64(1000+i)))
		running.Go(func() {
			timer := time.NewTimer(0)
			defer timer.Stop()
			for sleepUntil(ctx, timer, time.Now().Add(watchEvery)) {
				w.once(ctx, rng)
			}
		})
	}
	running.Wait()
}

// once asks one question.
func (w *stillWatch) once(ctx context.Context, rng *rand.Rand) {
	switch dice := rng.IntN(10); {
	case dice < 4:
		_, _ = w.top(ctx)
	case dice < 6:
		_, _ = w.rank(ctx, rng.IntN(stillUsers))
	case dice < 7:
		w.around(ctx, rng.IntN(stillUsers))
	case dice < 8:
		w.page(ctx, rng.IntN(stillUsers/10)) // near the first rows, which may be known from before
	case dice < 9:
		w.batch(ctx, rng)
	default:
		w.stranger(ctx, rng.IntN(stillUsers))
	}
}

func (w *stillWatch) top(ctx context.Context) (m rankcore.Meta, err error) {
	before, asked := w.seen("top"), time.Now()
	page, err := w.client.Top(ctx, rankcore.TopQuery{Board: w.board, Season: "all", Limit: stillRows})
	took := time.Since(asked)
	if err != nil {
		w.note(ctx, "", err, rankcore.Meta{}, "top", before)
		return m, err
	}
	w.timed(w.cached, took)
	w.note(ctx, wrongPage(page, stillRows), nil, page.Meta, "top", before)
	return page.Meta, nil
}

func (w *stillWatch) rank(ctx context.Context, i int) (m rankcore.Meta, err error) {
	u := stillUser(i)
	before, asked := w.seen(string(u)), time.Now()
	s, err := w.client.Rank(ctx, rankcore.RankQuery{Board: w.board, Season: "all", User: u})
	took := time.Since(asked)
	switch {
	case errors.Is(err, rankcore.ErrNotRanked):
		w.note(ctx, string(u)+" is said not to be ranked", nil, rankcore.Meta{}, string(u), before)
		return m, err
	case err != nil:
		w.note(ctx, "", err, rankcore.Meta{}, string(u), before)
		return m, err
	}
	w.timed(w.cold, took)
	w.note(ctx, wrongStanding(s, i), nil, s.Meta, string(u), before)
	return s.Meta, nil
}

// around asks for a user's neighbours.
func (w *stillWatch) around(ctx context.Context, i int) {
	question := "around " + string(stillUser(i))
	before := w.seen(question)
	page, err := w.client.Rows(ctx, rankcore.RowsQuery{Board: w.board, Season: "all", Around: stillUser(i), Limit: stillAround})
	first := max(min(stillBehind(i)-stillAround/2, stillUsers-stillAround), 0)
	if err == nil {
		page.More = first+stillAround < stillUsers // which is not told
	}
	w.rows(ctx, question, before, page, err, first, stillAround)
}

// page asks for a page behind a user.
func (w *stillWatch) page(ctx context.Context, behind int) {
	q := rankcore.RowsQuery{Board: w.board, Season: "all", Limit: stillRows}
	if behind > 0 {
		last := stillTop(behind)[behind-1]
		q.After = rankcore.Place{Score: last.Score, User: last.User}
	}
	question := fmt.Sprint("page behind ", behind)
	before := w.seen(question)
	page, err := w.client.Rows(ctx, q)
	w.rows(ctx, question, before, page, err, behind, stillRows)
}

func (w *stillWatch) rows(ctx context.Context, question string, before time.Time, page *rankcore.Page, err error, behind, n int) {
	switch {
	case errors.Is(err, rankcore.ErrNotRanked):
		w.note(ctx, question+": said not to be ranked", nil, rankcore.Meta{}, question, before)
	case err != nil:
		w.note(ctx, "", err, rankcore.Meta{}, question, before)
	default:
		w.note(ctx, wrongRows(page, behind, n), nil, page.Meta, question, before)
	}
}

// batch asks where some users stand.
func (w *stillWatch) batch(ctx context.Context, rng *rand.Rand) {
	users, asked := make([]int, stillBatch), make([]rankcore.UserID, stillBatch)
	for at := range users {
		users[at] = rng.IntN(stillUsers)
		asked[at] = stillUser(users[at])
	}
	batch, err := w.client.Ranks(ctx, rankcore.RanksQuery{Board: w.board, Season: "all", Users: asked})
	if err != nil {
		w.note(ctx, "", err, rankcore.Meta{}, "", time.Time{})
		return
	}
	w.note(ctx, wrongBatch(batch, users), nil, batch.Meta, "", time.Time{})
}

// stranger asks about somebody who has no score: that, or that nobody knows now, are the two right answers.
func (w *stillWatch) stranger(ctx context.Context, i int) {
	s, err := w.client.Rank(ctx, rankcore.RankQuery{Board: w.board, Season: "all", User: strangerOf(i)})
	switch {
	case errors.Is(err, rankcore.ErrNotRanked):
	case err != nil:
		w.note(ctx, "", err, rankcore.Meta{}, "", time.Time{})
	case s.Status != rankcore.Updating:
		w.note(ctx, fmt.Sprintf("a stranger stands somewhere: %+v", s), nil, s.Meta, "", time.Time{})
	}
}

func (w *stillWatch) timed(h *hdrhistogram.Histogram, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = h.RecordValue(min(max(took, time.Microsecond), longest).Microseconds()) // within its bounds
}

// seen is the as_of of the newest answer to a question. An answer that is asked for later may not be older.
func (w *stillWatch) seen(question string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asOf[question]
}

// note counts an answer to a question, before which one as of before had been seen.
func (w *stillWatch) note(ctx context.Context, wrong string, err error, m rankcore.Meta, question string, before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if problem := (*Problem)(nil); errors.As(err, &problem) {
		wrong, err = problem.Error(), nil
	}
	if err != nil {
		if ctx.Err() == nil {
			w.unanswered++
		}
		return
	}
	w.answers[m.Status]++
	if m.Status != rankcore.Updating && m.Status != "" && question != "" {
		if wrong == "" && m.AsOf.Before(before) {
			wrong = fmt.Sprintf("%s of %s is as of %v after an answer as of %v, because of %s", m.Status, question, m.AsOf, before, m.Reason)
		}
		if m.AsOf.After(w.asOf[question]) {
			w.asOf[question] = m.AsOf
		}
	}
	if wrong != "" && len(w.violations) < mostViolations {
		w.violations = append(w.violations, time.Now().Format("15:04:05.000 ")+wrong)
	}
}

// recovered returns how long it took until the top and the ranks of users from all over the board were fresh, once, one
// after another. What keeps them from it is said when it changes.
func (w *stillWatch) recovered(ctx context.Context, say func(format string, args ...any)) (took time.Duration, ok bool) {
	began, last := time.Now(), rankcore.Meta{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for time.Since(began) < comesBack {
		m, err := w.top(ctx)
		for i := 0; err == nil && m.Status == rankcore.Fresh && i < freshAsks; i++ {
			m, err = w.rank(ctx, i*stillUsers/freshAsks)
		}
		if err == nil && m.Status == rankcore.Fresh {
			return time.Since(began), true
		}
		if m.Status != last.Status || m.Reason != last.Reason {
			say("%s because of %s, %.1f s after the fault's end", m.Status, m.Reason, time.Since(began).Seconds())
			last = m
		}
		if !sleepUntil(ctx, timer, time.Now().Add(watchEvery)) {
			break
		}
	}
	return time.Since(began), false
}

// report sums up. It takes the readers' end for granted.
func (w *stillWatch) report(r *StillReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.answers, "")
	r.Answers = w.answers
	r.CachedP99 = float64(w.cached.ValueAtQuantile(99)) / 1e3
	r.UncachedP99 = float64(w.cold.ValueAtQuantile(99)) / 1e3
}
