package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/gateway/identity"
	"rankgate/gateway/quota"
	"rankgate/rankcore"
)

// Quota rations exact ranks.
type Quota struct {
	PerDay int         // for each requester, board and day in the board's zone; 0: there are no exact ranks
	Store  quota.Store // not needed when PerDay is 0
}

// quotaWithin bounds a step of the quota store. A store that takes longer costs the caller exactness, not the answer.
const quotaWithin = 250 * time.Millisecond

// exactRank answers precision=exact. Whatever keeps it from telling whose unit it is, or from taking one, costs
// exactness alone: then the answer is what auto says. An answer that is not exact costs nothing.
func (g *Gateway) exactRank(r read, q rankcore.RankQuery) error {
	auto := q
	auto.Precision = rankcore.Auto
	requester, err := g.cfg.Auth.Users.requester(r.c, q.User)
	if errors.Is(err, identity.ErrNoKeys) {
		return r.plainRank(auto)
	}
	if err != nil {
		return err
	}
	if g.cfg.Quota == nil {
		return r.plainRank(q)
	}
	x := &exact{read: r, q: q, auto: auto}
	if x.claim, x.repeats, err = claim(r.c, q, requester, g.cfg.Quota.PerDay, r.now); err != nil {
		return err
	}
	if x.claim.Limit == 0 {
		return x.refuse(quota.Grant{Now: r.now, Start: x.claim.Days[1], Reset: x.claim.Days[2]}, "Exact ranks are off here.")
	}
	return x.answer()
}

// exact is one question for an exact rank that costs a unit.
type exact struct {
	read
	q, auto rankcore.RankQuery
	claim   quota.Claim
	repeats bool // the caller may send the same request again, and named it
}

// claim is what the question asks of the quota. With an Idempotency-Key the request has a name that its
// repetition has too; another question under the same key is another request.
func claim(c *fiber.Ctx, q rankcore.RankQuery, requester string, perDay int, now time.Time) (_ quota.Claim, repeats bool, _ error) {
	id := rand.Text()
	keys := c.Request().Header.PeekAll("Idempotency-Key")
	switch {
	case len(keys) > 1 || len(keys) == 1 && (len(keys[0]) == 0 || len(keys[0]) > 256):
		return quota.Claim{}, false, badRequest.because("Idempotency-Key is given once, with 1 to 256 bytes")
	case len(keys) == 1:
		id = quota.RequestOf(string(keys[0]), string(q.User), string(q.Season))
	}
	return quota.Claim{
		Account: quota.AccountOf(string(q.Board.ID), requester), ID: id, Limit: perDay,
		Days: quota.DaysAround(now, q.Board.Location),
	}, len(keys) == 1, nil
}

// answer reserves, asks, confirms and answers.
func (x *exact) answer() error {
	grant, err := x.step(func(ctx context.Context) (quota.Grant, error) { return x.g.cfg.Quota.Store.Reserve(ctx, x.claim) })
	switch {
	case err != nil:
		return x.unrationed(err)
	case len(grant.Kept) > 0:
		return x.repeat(grant)
	case !grant.Granted:
		return x.refuse(grant, "All of today's are spent, or being asked for. What precision=auto says is in answer.")
	}
	s, err := x.g.readRank(x.q, x.now)
	if err != nil {
		x.release()
		return err
	}
	f := x.g.standingForm(x.board, s)
	if s.Precision != rankcore.Exact || s.Status == rankcore.Updating || s.Status != rankcore.Fresh && strictly(x.c) {
		x.release()
		return x.send(f, &s.Meta, private)
	}
	return x.confirm(f, &s.Meta)
}

// confirm spends the unit and answers with f, which is about m.
func (x *exact) confirm(f *form, m *rankcore.Meta) error {
	var keep []byte
	if x.repeats {
		keep = f.keep(m)
	}
	grant, err := x.step(func(ctx context.Context) (quota.Grant, error) { return x.g.cfg.Quota.Store.Confirm(ctx, x.claim, keep) })
	switch {
	case err != nil:
		if !x.repeats { // else its repetition finds the answer, if it was spent
			x.release()
		}
		return x.unrationed(err)
	case !grant.Granted: // it took so long that the reservation lapsed
		return x.plainRank(x.auto)
	case len(grant.Kept) > 0:
		return x.repeat(grant)
	}
	x.g.metrics.exactSpent.Inc()
	x.limits(grant)
	return x.send(f, m, private)
}

// repeat answers what the request was answered before.
func (x *exact) repeat(grant quota.Grant) error {
	f, m, err := keptForm(grant.Kept)
	if err != nil {
		return x.unrationed(err)
	}
	x.g.metrics.exactRepeated.Inc()
	x.limits(grant)
	return x.send(f, m, private)
}

// unrationed answers what auto says, since no unit can be counted.
func (x *exact) unrationed(cause error) error {
	x.g.metrics.exactUncounted.Inc()
	x.g.log.Debug("the quota store did not answer, so the rank is what auto says", "board", x.board.ID, "cause", cause)
	return x.plainRank(x.auto)
}

// refuse answers 429, with what auto says.
func (x *exact) refuse(grant quota.Grant, why string) error {
	s, err := x.g.readRank(x.auto, x.now)
	if err != nil {
		return err
	}
	x.g.metrics.exactRefused.Inc()
	x.limits(grant)
	x.c.Set(fiber.HeaderRetryAfter, strconv.FormatInt(max(grant.ResetIn(), 1), 10))
	return &spent{why, x.g.standingForm(x.board, s).body}
}

// limits tells the quota in the answer's headers (draft-ietf-httpapi-ratelimit-headers).
func (x *exact) limits(grant quota.Grant) {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	limit := x.claim.Limit
	x.c.Set("RateLimit-Policy", `"exact-rank";q=`+strconv.Itoa(limit)+`;w=`+number(grant.Window()))
	x.c.Set("RateLimit", `"exact-rank";r=`+strconv.Itoa(grant.Remaining(limit))+`;t=`+number(grant.ResetIn()))
}

// step takes one step of the quota store. It is not given up when the caller goes: what was begun is better known.
func (x *exact) step(do func(context.Context) (quota.Grant, error)) (quota.Grant, error) {
	if !x.g.quotaRest.asks(time.Now()) {
		return quota.Grant{}, errResting
	}
	ctx, cancel := context.WithTimeout(context.Background(), quotaWithin)
	defer cancel()
	grant, err := do(ctx)
	x.g.quotaRest.answered(err, time.Now())
	return grant, err
}

// release gives the unit back. Where that fails a unit that was only held lapses by itself.
func (x *exact) release() {
	_, err := x.step(func(ctx context.Context) (quota.Grant, error) {
		return quota.Grant{}, x.g.cfg.Quota.Store.Release(ctx, x.claim)
	})
	if err != nil {
		x.g.log.Debug("a unit of a quota was not given back", "board", x.q.Board.ID, "cause", err)
	}
}
