package quota_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/gateway/quota"
)

func TestNamesAreOfOneQuestion(t *testing.T) {
	seen := map[string]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"a", "1:b"}, {"a1", ":b"}, {"a", "b", ""}, {"b", "a"}} {
		name := quota.RequestOf(parts[0], parts[1:]...)
		if other, twice := seen[name]; twice || len(name) != 22 {
			t.Errorf("%q and %s have the name %s", parts, other, name)
		}
		seen[name] = fmt.Sprintf("%q", parts)
	}
	if quota.AccountOf("power", "bob") == quota.AccountOf("laps", "bob") {
		t.Error("an account is a requester on a board")
	}
}

// Whatever is asked in whatever order, no more than the limit is spent or held, and every unit is
// either free, held by one id, or spent.
func TestNoMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(rt, "limit")
		var l quota.Ledger
		held := map[string]time.Time{}
		spent := 0
		now := time.Unix(0, 0)
		for range 60 {
			now = now.Add(time.Duration(rapid.IntRange(0, 4).Draw(rt, "s")) * time.Second)
			for id, until := range held {
				if !now.Before(until) {
					delete(held, id)
				}
			}
			id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(rt, "id")
			_, has := held[id]
			switch rapid.SampledFrom([]string{"reserve", "confirm", "release"}).Draw(rt, "do") {
			case "reserve":
				want := has || spent+len(held) < limit
				if got := l.Reserve(id, limit, now); got != want {
					rt.Fatalf("reserve %s: %v, want %v", id, got, want)
				}
				if want {
					held[id] = now.Add(quota.HeldFor)
				}
			case "confirm":
				if got := l.Confirm(id, now); got != has {
					rt.Fatalf("confirm %s: %v, want %v", id, got, has)
				}
				if has {
					delete(held, id)
					spent++
				}
			case "release":
				l.Release(id)
				delete(held, id)
			}
			if used := l.Used(now); used != spent+len(held) || used > limit || l.Spent != spent {
				rt.Fatalf("used %d, spent %d; want %d and %d of %d", used, l.Spent, spent+len(held), spent, limit)
			}
		}
	})
}
