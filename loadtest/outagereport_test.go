package loadtest

import (
	"slices"
	"strings"
	"testing"
)

// Fresh answers a second: five seconds before the outage, three within it, and then those after.
func TestRecoveryIsMeasuredAgainstAHealthyTimeBefore(t *testing.T) {
	for _, c := range []struct {
		what                 string
		before               int
		after                []int
		recovered, collapsed bool
	}{
		{"at once", 950, []int{950, 950, 950}, true, false},
		{"a second later", 950, []int{0, 950, 950, 950}, true, false},
		{"a little less", 1000, []int{950, 950, 950}, true, false},
		{"too little", 1000, []int{900, 900, 900, 900, 900, 900}, false, false},
		{"too late", 1000, []int{0, 0, 0, 0, 1000, 1000, 1000}, false, false},
		{"not over yet", 1000, []int{1000, 1000}, false, false},
		{"hardly any before", 400, []int{400, 400, 400}, true, true},
		{"nothing before, and nothing after", 0, []int{0, 0, 0}, false, true},
	} {
		fresh := slices.Concat(slices.Repeat([]int{c.before}, 5), []int{0, 0, 0}, c.after)
		seconds := make([]OutageSecond, len(fresh))
		for i, n := range fresh {
			seconds[i] = OutageSecond{Asked: 2000, Fresh: n}
		}
		r := OutageRun{Capacity: 1000, Away: 5, Back: 8, Share: 0.95, Within: 3}
		r.judge(seconds, len(seconds))
		if r.Before.Fresh != c.before || (r.Recovered != nil) != c.recovered || r.Collapsed() != c.collapsed || r.Right() != (c.recovered && !c.collapsed) {
			t.Errorf("%s: %+v, recovered %v, collapsed %v", c.what, r.Before, r.Recovered, r.Collapsed())
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || strings.Contains(text.String(), "COLLAPSED") != c.collapsed {
			t.Errorf("%s: %v, %s", c.what, err, text.String())
		}
	}
}
