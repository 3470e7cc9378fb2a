package loadtest_test

import (
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

func TestDoubtExplainsALostTailAndNothingElse(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	add := func(id string, value rankcore.Score) rankcore.Op {
		return rankcore.Op{ID: id, User: "a", Kind: rankcore.OpAdd, Value: value}
	}
	seasons := []rankcore.SeasonID{"all"}
	for name, c := range map[string]struct {
		shown loadtest.Shown
		lost  int // -1: cannot be
	}{
		"nothing lost":                   {loadtest.Shown{"all": 11111}, 0},
		"the last one":                   {loadtest.Shown{"all": 11011}, 1},
		"both":                           {loadtest.Shown{"all": 11001}, 2},
		"the first of two":               {loadtest.Shown{"all": 11101}, -1},
		"one from before":                {loadtest.Shown{"all": 11110}, -1},
		"one from after":                 {loadtest.Shown{"all": 1111}, -1},
		"one counted twice":              {loadtest.Shown{"all": 11121}, -1},
		"shown nowhere":                  {loadtest.Shown{}, -1},
		"a retry after the cut repeated": {loadtest.Shown{"all": 21111}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			o := loadtest.NewOracle(newBoard())
			o.Apply(add("1", 1), now)
			d := o.Suspect()
			o.Apply(add("2", 10), now)
			o.Apply(add("3", 100), now)
			d.Cut()
			o.Apply(add("1", 1), now) // again
			o.Apply(add("4", 1000), now)
			o.Apply(add("5", 10000), now)
			lost, err := d.Settle("a", c.shown, seasons)
			if (c.lost < 0) != (err != nil) || err == nil && lost != c.lost {
				t.Fatalf("%d lost, %v, want %d", lost, err, c.lost)
			}
			d.End()
			if err != nil {
				return
			}
			if got := o.Standings(now, 0)[0].Members["a"].Score; got != c.shown["all"] {
				t.Errorf("the oracle now says %d, want what is shown: %v", got, c.shown)
			}
			// An operation that was lost is new when it comes again, one that was not is not.
			want := rankcore.Duplicate
			if c.lost > 0 {
				want = rankcore.Applied
			}
			if got := o.Apply(add("3", 100), now); got != want {
				t.Errorf("the last one again: %v, want %v", got, want)
			}
		})
	}
}
