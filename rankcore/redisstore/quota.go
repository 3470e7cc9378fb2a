package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Steps of quotas have connections of their own: a crowd that asks for exact ranks must not make readers wait. They
// may take longer than a question, because one that is given up may have been counted.
const (
	quotaPool  = 1
	quotaPipes = 8
)

// quotaTimeout bounds a step, where a question has the given time.
func quotaTimeout(question time.Duration) time.Duration { return question * 3 / 2 }

// How long a unit is held, and a confirmed request known.
const (
	quotaHeldFor = 10 * time.Second
	quotaKeptFor = 60 * time.Second
)

var quotaScript = loadScript("quota", "#!lua\n", "quota.lua")

// QuotaClaim is a request for one unit of an account's day.
type QuotaClaim struct {
	Account string      // whose units; letters, digits, - and _
	ID      string      // of the request; two requests with one id cost one unit
	Limit   int         // units a day
	Days    []time.Time // where three days begin, and where the last ends, in whole seconds
}

// QuotaGrant is the answer to a claim.
type QuotaGrant struct {
	Granted bool      // a unit is held, or spent
	Kept    []byte    // the answer that a request of this id was confirmed with first
	Used    int       // units of the day that are spent or held
	Now     time.Time // the server's clock, which told the day
	Start   time.Time // where the day begins
	Reset   time.Time // where it ends
}

// ErrQuotaDay: the server's clock is in none of the claim's days.
var ErrQuotaDay = errors.New("the clocks of gateway and Redis differ by more than a day")

// Quota counts what accounts use of their days. The server's clock tells the day and when a reservation lapses.
// Safe for concurrent use; every step is one script on the account's node, and may be repeated.
type Quota struct{ store *Store }

// Quota is where the store counts quotas. It must not be used after Close.
func (s *Store) Quota() *Quota { return &Quota{s} }

// Reserve holds a unit for 10 s, if one is left.
func (q *Quota) Reserve(ctx context.Context, c QuotaClaim) (QuotaGrant, error) {
	return q.step(ctx, "reserve", c, nil)
}

// Confirm spends the unit that is held, and keeps answer for 60 s. Granted is false when none is held any more.
func (q *Quota) Confirm(ctx context.Context, c QuotaClaim, answer []byte) (QuotaGrant, error) {
	return q.step(ctx, "confirm", c, answer)
}

// Release gives the unit back, held or spent, while its request is known.
func (q *Quota) Release(ctx context.Context, c QuotaClaim) error {
	_, err := q.step(ctx, "release", c, nil)
	return err
}

func (q *Quota) step(ctx context.Context, step string, c QuotaClaim, answer []byte) (QuotaGrant, error) {
	ctx, cancel := context.WithTimeout(ctx, quotaTimeout(q.store.readTimeout))
	defer cancel()
	// The hash tag keeps what one script touches of one account on one node.
	prefix := "quota:{" + c.Account + "}:"
	keys := []string{prefix + "request:" + c.ID}
	args := []any{step, c.ID, c.Limit, quotaHeldFor.Milliseconds(), quotaKeptFor.Milliseconds()}
	for i, begins := range c.Days {
		if i+1 < len(c.Days) {
			// The day's name, and its beginning: a board whose zone was changed has other days of the same names.
			day := prefix + begins.Format(time.DateOnly) + ":" + strconv.FormatInt(begins.Unix(), 10)
			keys = append(keys, day+":spent", day+":held")
		}
		args = append(args, begins.Unix())
	}
	args = append(args, answer)
	values, err := q.store.run(ctx, q.store.quotas, quotaScript, []call{{keys, args}})[0].Slice()
	if err != nil {
		return QuotaGrant{}, err
	}
	return quotaGrant(c, values)
}

func quotaGrant(c QuotaClaim, values []any) (QuotaGrant, error) {
	if len(values) < 4 {
		return QuotaGrant{}, errShape(values)
	}
	day := int(integer(values[3]))
	if day < 0 || day+1 >= len(c.Days) {
		return QuotaGrant{}, ErrQuotaDay
	}
	g := QuotaGrant{
		Granted: integer(values[0]) == 1, Used: int(integer(values[1])), Now: time.UnixMilli(integer(values[2])),
		Start: c.Days[day], Reset: c.Days[day+1],
	}
	if len(values) > 4 {
		g.Kept = []byte(text(values[4]))
	}
	return g, nil
}
