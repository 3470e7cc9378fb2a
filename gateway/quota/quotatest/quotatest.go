// Package quotatest is what every quota.Store must do. Stores run it in their own tests.
package quotatest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"rankgate/gateway/quota"
)

// Opener returns two stores that share what is used, as two gateways do, and a name for each test's own accounts.
type Opener func(t *testing.T) (one, other quota.Store)

// Run holds a store against the contract.
func Run(t *testing.T, open Opener) {
	t.Helper()
	for name, test := range map[string]func(*asker){
		"no more than the limit":              noMore,
		"refusals do not count":               refusals,
		"released is free":                    released,
		"an id costs one unit":                oneID,
		"the first answer is kept":            firstAnswer,
		"repeated steps count once":           repeated,
		"accounts are apart":                  apart,
		"days are apart":                      days,
		"the store's clock tells the day":     clock,
		"many at once get exactly the limit":  atOnce,
		"one id at once is one unit":          oneIDAtOnce,
		"nothing is confirmed that is unheld": unheld,
	} {
		t.Run(name, func(t *testing.T) {
			one, other := open(t)
			test(&asker{t: t, one: one, other: other, account: quota.AccountOf("board", t.Name())})
		})
	}
}

// asker asks two stores about one account.
type asker struct {
	t          *testing.T
	one, other quota.Store
	account    string
}

const limit = 3

func (a *asker) claim(id string) quota.Claim {
	return quota.Claim{Account: a.account, ID: id, Limit: limit, Days: quota.DaysAround(time.Now(), time.UTC)}
}

func (a *asker) reserve(s quota.Store, c quota.Claim) quota.Grant {
	a.t.Helper()
	g, err := s.Reserve(context.Background(), c)
	if err != nil {
		a.t.Fatalf("reserve %s: %v", c.ID, err)
	}
	return g
}

func (a *asker) confirm(s quota.Store, c quota.Claim, answer string) quota.Grant {
	a.t.Helper()
	g, err := s.Confirm(context.Background(), c, []byte(answer))
	if err != nil {
		a.t.Fatalf("confirm %s: %v", c.ID, err)
	}
	return g
}

func (a *asker) release(s quota.Store, c quota.Claim) {
	a.t.Helper()
	if err := s.Release(context.Background(), c); err != nil {
		a.t.Fatalf("release %s: %v", c.ID, err)
	}
}

// spend takes one unit from end to end.
func (a *asker) spend(id string) {
	a.t.Helper()
	if g := a.reserve(a.one, a.claim(id)); !g.Granted {
		a.t.Fatalf("%s was refused: %+v", id, g)
	}
	if g := a.confirm(a.other, a.claim(id), ""); !g.Granted {
		a.t.Fatalf("%s was not confirmed: %+v", id, g)
	}
}

// want checks a grant.
func (a *asker) want(what string, g quota.Grant, granted bool, used int, kept string) {
	a.t.Helper()
	if g.Granted != granted || g.Used != used || string(g.Kept) != kept {
		a.t.Errorf("%s: granted %v, used %d, kept %q; want %v, %d, %q", what, g.Granted, g.Used, g.Kept, granted, used, kept)
	}
}

func noMore(a *asker) {
	for i := range limit {
		id := fmt.Sprint(i)
		a.want("reserve", a.reserve(a.one, a.claim(id)), true, i+1, "")
		a.want("confirm", a.confirm(a.one, a.claim(id), ""), true, i+1, "")
	}
	for _, s := range []quota.Store{a.one, a.other} {
		g := a.reserve(s, a.claim("more"))
		a.want("one more", g, false, limit, "")
		if g.Remaining(limit) != 0 || g.ResetIn() < 0 || g.ResetIn() > 86400 || g.Window() != 86400 {
			a.t.Errorf("remaining %d, reset in %d of %d", g.Remaining(limit), g.ResetIn(), g.Window())
		}
	}
	raised := a.claim("more")
	raised.Limit++
	a.want("a higher limit", a.reserve(a.one, raised), true, limit+1, "")
}

func refusals(a *asker) {
	for i := range limit {
		a.reserve(a.one, a.claim(fmt.Sprint(i)))
	}
	for i := range 10 {
		a.want("held by others", a.reserve(a.other, a.claim(fmt.Sprint("more", i))), false, limit, "")
	}
	a.release(a.one, a.claim("0"))
	a.want("after a release", a.reserve(a.other, a.claim("again")), true, limit, "")
}

func released(a *asker) {
	for i := range 4 * limit {
		c := a.claim(fmt.Sprint(i))
		a.want("reserve", a.reserve(a.one, c), true, 1, "")
		a.release(a.other, c)
	}
	a.spend("spent")
	// A confirmation whose reply was lost is taken back too, once.
	a.release(a.one, a.claim("spent"))
	a.release(a.one, a.claim("spent"))
	a.want("after it was taken back", a.reserve(a.one, a.claim("next")), true, 1, "")
}

func oneID(a *asker) {
	for range 5 {
		a.want("reserve", a.reserve(a.one, a.claim("id")), true, 1, "")
		a.want("reserve", a.reserve(a.other, a.claim("id")), true, 1, "")
	}
	a.confirm(a.one, a.claim("id"), "")
	a.want("once it is spent", a.reserve(a.other, a.claim("id")), true, 1, "")
}

func firstAnswer(a *asker) {
	a.reserve(a.one, a.claim("id"))
	a.want("first", a.confirm(a.one, a.claim("id"), `{"n":"1:\u0000"}`), true, 1, "")
	a.want("second", a.confirm(a.other, a.claim("id"), "2"), true, 1, `{"n":"1:\u0000"}`)
	a.want("asked again", a.reserve(a.other, a.claim("id")), true, 1, `{"n":"1:\u0000"}`)
	a.spend("b")
	a.spend("c")
	a.want("with nothing left", a.reserve(a.one, a.claim("id")), true, limit, `{"n":"1:\u0000"}`)
}

func repeated(a *asker) {
	for range 3 {
		a.reserve(a.one, a.claim("id"))
	}
	for range 3 {
		a.want("confirm", a.confirm(a.one, a.claim("id"), ""), true, 1, "")
	}
	a.want("another", a.reserve(a.one, a.claim("other")), true, 2, "")
	for range 3 {
		a.release(a.one, a.claim("other"))
	}
	a.want("another again", a.reserve(a.one, a.claim("again")), true, 2, "")
}

func apart(a *asker) {
	for i := range limit {
		a.spend(fmt.Sprint(i))
	}
	other := a.claim("0") // the same request id
	other.Account = quota.AccountOf("another board", a.t.Name())
	a.want("another account", a.reserve(a.one, other), true, 1, "")
}

// around are the bounds of three days, of which one begins at each of the given minutes from the store's now.
func (a *asker) around(minutes ...int) []time.Time {
	c := a.claim("clock")
	now := a.reserve(a.one, c).Now.Truncate(time.Second)
	a.release(a.one, c)
	var bounds []time.Time
	for _, m := range minutes {
		bounds = append(bounds, now.Add(time.Duration(m)*time.Minute).UTC())
	}
	return bounds
}

func days(a *asker) {
	on := func(id string, bounds []time.Time) quota.Claim {
		c := a.claim(id)
		c.Days = bounds
		return c
	}
	today := a.around(-90, -30, 30, 90)
	for i := range limit {
		a.want("reserve", a.reserve(a.one, on(fmt.Sprint(i), today)), true, i+1, "")
	}
	// Midnight passes: what was held before is spent before, and the new day has units of its own.
	tomorrow := []time.Time{today[1], today[1].Add(30 * time.Minute), today[2], today[3]}
	a.want("after midnight", a.confirm(a.other, on("0", tomorrow), ""), true, limit, "")
	g := a.reserve(a.other, on("3", tomorrow))
	a.want("a new day", g, true, 1, "")
	if !g.Start.Equal(tomorrow[1]) || !g.Reset.Equal(tomorrow[2]) {
		a.t.Errorf("the day is %v to %v, want %v to %v", g.Start, g.Reset, tomorrow[1], tomorrow[2])
	}
	a.release(a.one, on("0", tomorrow))
	a.want("taken back from the day before", a.reserve(a.one, on("4", today)), true, limit, "")
	a.want("and not from the new one", a.reserve(a.one, on("5", tomorrow)), true, 2, "")
}

func clock(a *asker) {
	far := a.claim("id")
	far.Days = quota.DaysAround(time.Now().AddDate(0, 0, 5), time.UTC)
	if _, err := a.one.Reserve(context.Background(), far); !errors.Is(err, quota.ErrClock) {
		a.t.Errorf("a clock that is wrong by days: %v", err)
	}
	for i := range limit {
		a.spend(fmt.Sprint(i))
	}
	for _, wrong := range []time.Duration{-20 * time.Hour, -10 * time.Minute, 10 * time.Minute, 20 * time.Hour} {
		c := a.claim("skewed")
		c.Days = quota.DaysAround(time.Now().Add(wrong), time.UTC)
		a.want(fmt.Sprint("a gateway that is wrong by ", wrong), a.reserve(a.other, c), false, limit, "")
	}
}

func atOnce(a *asker) {
	const asked = 60
	spent := make(chan string, asked)
	var wait sync.WaitGroup
	for i := range asked {
		wait.Go(func() {
			s := []quota.Store{a.one, a.other}[i%2]
			c := a.claim(fmt.Sprint(i))
			if a.reserve(s, c).Granted && a.confirm(s, c, "").Granted {
				spent <- c.ID
			}
		})
	}
	wait.Wait()
	if len(spent) != limit {
		a.t.Errorf("%d of %d got a unit, want %d", len(spent), asked, limit)
	}
}

func oneIDAtOnce(a *asker) {
	const asked = 40
	answers := make(chan string, asked)
	var wait sync.WaitGroup
	for i := range asked {
		wait.Go(func() {
			s := []quota.Store{a.one, a.other}[i%2]
			g := a.reserve(s, a.claim("id"))
			if g.Granted && g.Kept == nil {
				own := fmt.Sprint(i)
				if g = a.confirm(s, a.claim("id"), own); g.Kept == nil {
					g.Kept = []byte(own)
				}
			}
			answers <- string(g.Kept)
		})
	}
	wait.Wait()
	first := <-answers
	for range asked - 1 {
		if got := <-answers; got != first || got == "" {
			a.t.Errorf("answers %q and %q", first, got)
		}
	}
	a.want("afterwards", a.reserve(a.one, a.claim("next")), true, 2, "")
}

func unheld(a *asker) {
	a.want("never reserved", a.confirm(a.one, a.claim("id"), "x"), false, 0, "")
	a.reserve(a.one, a.claim("id"))
	a.release(a.one, a.claim("id"))
	a.want("released", a.confirm(a.other, a.claim("id"), "x"), false, 0, "")
	a.want("asked anew", a.reserve(a.one, a.claim("id")), true, 1, "")
}
