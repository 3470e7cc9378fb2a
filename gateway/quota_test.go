package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rankgate/gateway/quota"
	"rankgate/gateway/quota/journal"
	"rankgate/rankcore"
)

func newJournal(t *testing.T, now func() time.Time) *journal.Journal {
	t.Helper()
	j, err := journal.Open(journal.Config{Path: filepath.Join(t.TempDir(), "quota"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// newRationed is an edge where everybody has five exact ranks a day, and ann, bob and b/ob a score.
func newRationed(t *testing.T, change func(*Config)) *edge {
	t.Helper()
	e := newEdge(t, func(c *Config) {
		c.Quota = &Quota{PerDay: 5, Store: newJournal(t, nil)}
		if change != nil {
			change(c)
		}
	})
	e.core.rank = func(s *rankcore.Standing) { s.Percentile = 50 }
	e.post("power", `{"user":"ann","add":9},{"user":"bob","add":7},{"user":"b/ob é","add":5}`).want(202)
	e.post("laps", `{"user":"ann","best":9}`).want(202)
	return e
}

func (e *edge) exact(user string, headers ...string) reply {
	e.t.Helper()
	return e.get("/v1/boards/power/users/"+url.PathEscape(user)+"/rank?precision=exact", headers...)
}

// left checks that an answer is exact and says how many are left.
func (r reply) left(n int) reply {
	r.t.Helper()
	r.want(200).field("precision", "exact")
	r.limits(5, n)
	return r
}

func (r reply) limits(q, n int) {
	r.t.Helper()
	var reset int
	if got := r.header.Get("RateLimit"); !scans(got, fmt.Sprintf(`"exact-rank";r=%d;t=%%d`, n), &reset) || reset < 0 || reset > 86400 {
		r.t.Errorf("RateLimit: %s, want r=%d", got, n)
	}
	if got, want := r.header.Get("RateLimit-Policy"), fmt.Sprintf(`"exact-rank";q=%d;w=86400`, q); got != want {
		r.t.Errorf("RateLimit-Policy: %s, want %s", got, want)
	}
}

func scans(text, format string, n *int) bool {
	_, err := fmt.Sscanf(text, format, n)
	return err == nil
}

// spent checks a refusal, and that it has what auto says.
func (r reply) spent(e *edge, q int, user string) {
	r.t.Helper()
	r.problem(exactSpent).limits(q, 0)
	var wait int
	if got := r.header.Get("Retry-After"); !scans(got, "%d", &wait) || wait < 1 || wait > 86400 {
		r.t.Errorf("Retry-After: %q", got)
	}
	answer, _ := r.json()["answer"].(map[string]any)
	auto := e.get("/v1/boards/power/users/" + url.PathEscape(user) + "/rank").want(200).json()
	for _, name := range []string{"board", "user", "status", "rank", "precision", "score", "total"} {
		if fmt.Sprint(answer[name]) != fmt.Sprint(auto[name]) {
			r.t.Errorf("answer.%s is %v, want %v: %s", name, answer[name], auto[name], r.body)
		}
	}
}

func TestExactRanksAreRationed(t *testing.T) {
	e := newRationed(t, nil)
	for n := 4; n >= 0; n-- {
		e.exact("ann").left(n)
	}
	for range 20 { // refusals do not count, and cost nobody else anything
		e.exact("ann").spent(e, 5, "ann")
	}
	e.exact("bob").left(4)
	e.get("/v1/boards/laps/users/ann/rank?precision=exact").left(4)
	for _, free := range []string{"", "?precision=auto", "?precision=approx"} {
		r := e.get("/v1/boards/power/users/ann/rank" + free).want(200)
		if r.header.Get("RateLimit") != "" || r.header.Get("RateLimit-Policy") != "" {
			t.Errorf("%q is rationed: %v", free, r.header)
		}
	}
	for range 10 {
		if r := e.call("HEAD", "/v1/boards/power/users/bob/rank?precision=exact", "").want(200); r.header.Get("RateLimit") != "" {
			t.Errorf("HEAD is rationed: %v", r.header)
		}
	}
	e.exact("bob").left(3)
}

// Every spelling of a user's URL spends the same units.
func TestOneUserHasOneQuota(t *testing.T) {
	e := newRationed(t, nil)
	for i, path := range []string{"bob", "%62ob", "b%6Fb", "%62%6f%62", "bo%62"} {
		e.get("/v1/boards/power/users/" + path + "/rank?precision=exact").left(4 - i)
	}
	e.get("/v1/boards/power/users/b%6fb/rank?precision=exact&season=all").spent(e, 5, "bob")
	e.get("/v1/boards/%70ower/users/bob/rank?season=all&precision=%65xact").spent(e, 5, "bob")
	for _, path := range []string{"bob/", "/bob", "BOB", "b%256fb"} {
		if r := e.get("/v1/boards/power/users/" + path + "/rank?precision=exact"); r.status != 404 {
			t.Errorf("%s: status %d", path, r.status)
		}
	}
	e.exact("b/ob é").left(4)
	e.get("/v1/boards/power/users/b%2fob%20%c3%a9/rank?precision=exact").left(3)
}

// An answer that is not what was asked for is free.
func TestAFailedAnswerIsFree(t *testing.T) {
	e := newRationed(t, nil)
	for range 10 {
		e.exact("nobody").problem(notRanked)
	}
	e.down = unavailable(rankcore.CoreSlow)
	for range 10 {
		if r := e.exact("ann").want(200).field("status", "updating"); r.header.Get("RateLimit") != "" {
			t.Errorf("rationed: %v", r.header)
		}
	}
	e.down = nil
	e.core.rank = func(s *rankcore.Standing) { s.Precision, s.Tied = rankcore.Approx, 0 }
	for range 10 {
		e.exact("ann").want(200).field("precision", "approx")
	}
	e.core.rank = func(s *rankcore.Standing) { s.Status, s.Reason = rankcore.Stale, rankcore.CoreSlow }
	for range 10 {
		e.exact("ann", "Prefer", "handling=strict").problem(notFresh)
	}
	e.exact("ann").left(4).field("status", "stale") // it is exact, and was had
	e.core.rank = func(s *rankcore.Standing) { s.Percentile = 50 }
	e.get("/v1/boards/power/users/ann/rank?precision=exact&season=never").problem(badRequest)
	e.exact("ann").left(3)
	e.get("/v1/boards/power/users/nobody/rank?precision=exact").problem(notRanked)
}

// Two gateways that share a store give exactly the quota, however much is asked at once.
func TestManyAtOnceGetExactlyTheQuota(t *testing.T) {
	store := newJournal(t, nil)
	share := func(c *Config) { c.Quota.Store = store }
	gateways := []*edge{newRationed(t, share), newRationed(t, share)}
	var exact, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range 60 {
		wait.Go(func() {
			r := gateways[i%2].exact("ann")
			switch {
			case r.status == 429:
				refused.Add(1)
			case r.status == 200 && strings.Contains(r.body, `"precision":"exact"`) && r.header.Get("RateLimit") != "":
				exact.Add(1)
			}
		})
	}
	wait.Wait()
	if exact.Load() != 5 || refused.Load() != 55 {
		t.Errorf("%d exact and %d refused, want 5 and 55", exact.Load(), refused.Load())
	}
}

func TestARepeatedRequestIsFree(t *testing.T) {
	e := newRationed(t, nil)
	first := e.exact("ann", "Idempotency-Key", "k-1").left(4)
	e.post("power", `{"user":"bob","add":100}`).want(202)
	for range 10 {
		r := e.exact("ann", "Idempotency-Key", "k-1").left(4)
		if r.body != first.body || r.header.Get("ETag") != first.header.Get("ETag") {
			t.Errorf("%s, want %s", r.body, first.body)
		}
	}
	e.exact("ann", "Idempotency-Key", "k-2").left(3).field("rank", "2")
	e.exact("ann").left(2)
	e.exact("bob", "Idempotency-Key", "k-1").left(4).field("user", "bob") // another requester, another question
	for n := 1; n >= 0; n-- {
		e.exact("ann").left(n)
	}
	if r := e.exact("ann", "Idempotency-Key", "k-1").left(0); r.body != first.body {
		t.Errorf("%s, want %s", r.body, first.body)
	}
	e.exact("ann", "Idempotency-Key", "k-3").spent(e, 5, "ann")
	for _, wrong := range []string{strings.Repeat("k", 257)} {
		e.exact("ann", "Idempotency-Key", wrong).problem(badRequest)
	}
	tag := first.header.Get("ETag")
	if r := e.exact("ann", "Idempotency-Key", "k-1", "If-None-Match", tag); r.status != 304 {
		t.Errorf("status %d", r.status)
	}
}

// What failed is not repeated.
func TestAFailedAnswerIsNotKept(t *testing.T) {
	e := newRationed(t, nil)
	e.down = unavailable(rankcore.CoreDown)
	e.exact("ann", "Idempotency-Key", "k").field("status", "updating")
	e.down = nil
	e.exact("ann", "Idempotency-Key", "k").left(4)
}

// broken is a quota store that fails from a step on.
type broken struct {
	quota.Store
	reserve, confirm error
	released         int
}

func (b *broken) Reserve(ctx context.Context, c quota.Claim) (quota.Grant, error) {
	if b.reserve != nil {
		return quota.Grant{}, b.reserve
	}
	return b.Store.Reserve(ctx, c)
}

func (b *broken) Confirm(ctx context.Context, c quota.Claim, answer []byte) (quota.Grant, error) {
	g, err := b.Store.Confirm(ctx, c, answer)
	if b.confirm != nil {
		return quota.Grant{}, b.confirm // its reply was lost
	}
	return g, err
}

func (b *broken) Release(ctx context.Context, c quota.Claim) error {
	b.released++
	return b.Store.Release(ctx, c)
}

// Without the quota store nobody gets an exact answer, an error or a bill.
func TestWithoutTheStoreItIsAsAuto(t *testing.T) {
	b := &broken{Store: newJournal(t, nil)}
	e := newRationed(t, func(c *Config) { c.Quota.Store = b })
	asked := rankcore.Exact
	auto := e.Gateway.cfg.Reader
	e.Gateway.cfg.Reader = precisions{auto, &asked}
	for name, fail := range map[string]func(){
		"reserve": func() { b.reserve = errors.New("redis-7.internal is away") },
		"confirm": func() { b.confirm = errors.New("redis-7.internal is slow") },
	} {
		b.reserve, b.confirm = nil, nil
		fail()
		r := e.exact("ann").want(200).field("rank", "1")
		if asked != rankcore.Auto || r.header.Get("RateLimit") != "" || strings.Contains(r.body, "internal") {
			t.Errorf("%s: asked for %v; %v %s", name, asked, r.header, r.body)
		}
	}
	if b.released != 1 {
		t.Errorf("released %d times", b.released)
	}
	b.reserve, b.confirm = nil, nil
	e.exact("ann").left(4)
	b.confirm = errors.New("its reply is lost")
	e.exact("ann", "Idempotency-Key", "k").want(200)
	b.confirm = nil
	e.exact("ann", "Idempotency-Key", "k").left(3) // one unit, and its answer
	e.exact("ann", "Idempotency-Key", "k").left(3)
}

// precisions notes what a reader is asked for.
type precisions struct {
	rankcore.Reader
	last *rankcore.Precision
}

func (p precisions) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	*p.last = q.Precision
	return p.Reader.Rank(ctx, q)
}

func TestExactRanksAreOff(t *testing.T) {
	e := newRationed(t, func(c *Config) { c.Quota = &Quota{} })
	e.exact("ann").spent(e, 0, "ann")
	e.exact("nobody").problem(notRanked)
	e.get("/v1/boards/power/users/ann/rank").want(200)
}

func TestExactRanksWithoutLimit(t *testing.T) {
	e := newRationed(t, func(c *Config) { c.Quota = nil })
	for range 10 {
		if r := e.exact("ann").want(200).field("precision", "exact"); r.header.Get("RateLimit") != "" {
			t.Errorf("rationed: %v", r.header)
		}
	}
}

// A day of 25 hours is one day, and midnight in the board's zone begins the next.
func TestTheDayIsTheBoards(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 25, 23, 59, 0, 0, berlin)
	day := quota.DaysAround(now, berlin)
	store := newJournal(t, func() time.Time { return now })
	e := newRationed(t, func(c *Config) { c.Quota.Store = shifted{store, &now, berlin} })
	for n := 4; n >= 0; n-- {
		r := e.exact("ann").want(200)
		if got, want := r.header.Get("RateLimit"), fmt.Sprintf(`"exact-rank";r=%d;t=60`, n); got != want {
			t.Errorf("RateLimit: %s, want %s", got, want)
		}
		if got := r.header.Get("RateLimit-Policy"); got != `"exact-rank";q=5;w=90000` {
			t.Errorf("RateLimit-Policy: %s", got)
		}
	}
	if r := e.exact("ann").problem(exactSpent); r.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After: %s", r.header.Get("Retry-After"))
	}
	now = day[2]
	e.exact("ann").left(4)
}

// shifted asks a store as a gateway would whose clock is the test's.
type shifted struct {
	quota.Store
	now  *time.Time
	zone *time.Location
}

func (s shifted) Reserve(ctx context.Context, c quota.Claim) (quota.Grant, error) {
	c.Days = quota.DaysAround(*s.now, s.zone)
	return s.Store.Reserve(ctx, c)
}

func (s shifted) Confirm(ctx context.Context, c quota.Claim, answer []byte) (quota.Grant, error) {
	c.Days = quota.DaysAround(*s.now, s.zone)
	return s.Store.Confirm(ctx, c, answer)
}
