package cachetier

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// oldestAnswer is what /metrics tells of the board's oldest answer; false where nothing.
func oldestAnswer(t *testing.T, reg *prometheus.Registry, board string) (seconds float64, told bool) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "rankgate_cachetier_oldest_answer_seconds" && m.GetLabel()[0].GetValue() == board {
				return m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}

// The one old answer among thousands of new ones is told, for long enough to be scraped, and then forgotten.
func TestTheAgeOfTheOldestAnswerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reg := newCore(), prometheus.NewRegistry()
		tier := newTier(t, c, func(c *Config) { c.Registerer = reg })
		if _, told := oldestAnswer(t, reg, "power"); told {
			t.Fatal("an age before there was an answer")
		}
		c.status.Store(rankcore.Stale)
		c.asOf = time.Now().Add(-7 * time.Second)
		rankOf(t, tier, "abe")
		c.status.Store(rankcore.Fresh)
		c.asOf = time.Time{}
		for range 1000 {
			topOf(t, tier)
		}
		for range 2 { // two scrapers
			if age, _ := oldestAnswer(t, reg, "power"); age != 7 {
				t.Fatalf("the oldest answer is told to be %v s old, want 7", age)
			}
		}
		time.Sleep(ageWindow - time.Millisecond)
		if age, _ := oldestAnswer(t, reg, "power"); age != 7 {
			t.Fatalf("a window later it is told to be %v s old, want 7", age)
		}
		time.Sleep(ageWindow + time.Millisecond)
		if age, told := oldestAnswer(t, reg, "power"); told {
			t.Fatalf("%v s, when nothing was answered for two windows", age)
		}
		c.status.Store(rankcore.Updating)
		c.asOf = time.Now().Add(-time.Hour)
		topOf(t, tier)
		if age, told := oldestAnswer(t, reg, "power"); told {
			t.Fatalf("%v s, although the answer showed nothing", age)
		}
		c.status.Store(rankcore.Fresh)
		c.asOf = time.Time{}
		time.Sleep(shortLife)
		topOf(t, tier)
		time.Sleep(400 * time.Millisecond)
		topOf(t, tier) // from memory
		if age, _ := oldestAnswer(t, reg, "power"); age != 0.4 {
			t.Fatalf("an answer out of memory is told to be %v s old, want 0.4", age)
		}
	})
}

func TestTheOldestOfManyAtOnceIsKept(t *testing.T) {
	var o oldest
	now := time.Now()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for age := range 1000 {
				o.note(time.Duration(age*8+i)*time.Millisecond, now)
			}
		})
	}
	all.Wait()
	if age, ok := o.age(now); !ok || age != 7999*time.Millisecond {
		t.Errorf("%v, %v; want 7.999s", age, ok)
	}
}
