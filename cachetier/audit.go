package cachetier

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

const (
	// auditEvery is the pause between two audits. Each asks the source one or two questions.
	auditEvery = time.Second
	// auditReach is how many keys an audit looks through for one.
	auditReach = 64
)

// verdict is what an audit found.
type verdict uint8

const (
	gone  verdict = iota // memory has no such answer any more, or the source could not tell
	right                // it has all that the source showed a bound earlier
	older                // it lacks what the source showed a bound earlier
	wrong                // it shows something else although nothing has changed
)

var verdicts = [...]string{gone: "gone", right: "right", older: "older", wrong: "wrong"}

func newAudits() (*prometheus.CounterVec, [len(verdicts)]prometheus.Counter) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankgate_cachetier_audits_total",
		Help: "Answers in memory held against the source, by result: right, older (than the freshness bound allows), wrong, gone (before they could be judged).",
	}, []string{"result"})
	var all [len(verdicts)]prometheus.Counter
	for v, name := range verdicts {
		all[v] = vec.WithLabelValues(name)
	}
	return vec, all
}

// Audit holds answers in memory against the source, one after another, until ctx ends, and returns nil. What it finds
// to be too old or wrong is counted and logged. That everything looks well and is hours old happens to caches whose
// source is never asked any more.
func (t *Tier) Audit(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(auditEvery):
		}
		a, ok := t.sample()
		if !ok {
			continue
		}
		v := t.audit(ctx, a)
		if ctx.Err() != nil {
			return nil
		}
		t.metrics.audits[v].Inc()
		if v == older || v == wrong {
			t.log.Warn("an answer in memory is not what it is called", "is", verdicts[v], "board", a.key.board.ID, "kind", kinds[a.kind()])
		}
	}
}

// sample is a question that memory has an answer to, one of the first that a walk through it meets.
func (t *Tier) sample() (a ask, ok bool) {
	skip := rand.N(auditReach)
	for k := range t.answers.Keys() {
		a, ok = t.ask(k, time.Time{}), true
		if skip--; skip < 0 {
			break
		}
	}
	return a, ok
}

// audit asks the source, lets the board's bound pass, and looks at what memory then answers. That was read after the
// source was asked, by what fresh means, so it has all that the source showed.
func (t *Tier) audit(ctx context.Context, a ask) verdict {
	shown := t.shown(a)
	if shown == nil {
		return gone
	}
	select {
	case <-ctx.Done():
		return gone
	case <-time.After(a.key.board.Freshness):
	}
	kept := t.cached(a, time.Now())
	if kept == nil || kept.doubt != "" || !kept.sound() || kept.page == nil && kept.standing == nil {
		return gone
	}
	switch was, is := shown.version(), kept.version(); {
	case is.Time < was.Time || is.Time == was.Time && is.Seq < was.Seq:
		return older
	case is != was || kept.same(shown):
		return right
	}
	// A reading under way when something changed may have missed a part. One before and one after that agree did not.
	if again := t.shown(a); again == nil || again.version() != shown.version() || !again.same(shown) {
		return gone
	}
	return wrong
}

// shown is what the source answers now; nil where that is not fresh.
func (t *Tier) shown(a ask) *entry {
	page, standing, err := t.read(a)
	e := &entry{page: page, standing: standing}
	if err != nil || page == nil && standing == nil || !e.sound() {
		return nil
	}
	return e
}

func (e *entry) version() rankcore.Position {
	if e.page != nil {
		return e.page.Version
	}
	return e.standing.Version
}

// same reports whether two answers to one question show the same. Estimates of one version may differ.
func (e *entry) same(as *entry) bool {
	if e.page != nil {
		return as.page != nil && e.page.Total == as.page.Total && slices.Equal(e.page.Entries, as.page.Entries)
	}
	x, y := e.standing, as.standing
	return y != nil && x.Score == y.Score && (x.Precision != rankcore.Exact || y.Precision != rankcore.Exact || x.Rank == y.Rank)
}
