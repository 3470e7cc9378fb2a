package cachetier

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// ageWindow is how long the age of the oldest answer is at least told: longer than most scrape from one time to the next.
const ageWindow = 30 * time.Second

// oldest is the greatest age of an answer that was given in this window and in the one before: in turns, the window's
// number and the age in milliseconds, in 32 bits each. Who reads it changes nothing, so that several may.
type oldest [2]atomic.Uint64

func windowOf(now time.Time) uint32 { return uint32(now.Unix() / int64(ageWindow/time.Second)) }

// note takes note of an answer that was given at now.
func (o *oldest) note(age time.Duration, now time.Time) {
	window := windowOf(now)
	slot := &o[window%2]
	mine := uint64(window)<<32 | uint64(min(max(age.Milliseconds(), 0), math.MaxUint32))
	for {
		was := slot.Load()
		if uint32(was>>32) == window && was >= mine {
			return
		}
		if slot.CompareAndSwap(was, mine) {
			return
		}
	}
}

// age is the greatest of the window that now is in and the one before; false where nothing was given.
func (o *oldest) age(now time.Time) (age time.Duration, ok bool) {
	window := windowOf(now)
	for i := range o {
		was := o[i].Load()
		if in := uint32(was >> 32); was != 0 && (in == window || in == window-1) {
			age, ok = max(age, time.Duration(uint32(was))*time.Millisecond), true
		}
	}
	return age, ok
}

// gave takes note of an answer: its status, and how old what it shows is.
func (t *Tier) gave(b *boardStamps, m *rankcore.Meta, now time.Time) {
	t.metrics.answered(m.Status)
	if m.Status != rankcore.Updating {
		b.oldest.note(now.Sub(m.AsOf), now)
	}
}

// gaveEntry is gave for an entry; that a user is not ranked has no age.
func (t *Tier) gaveEntry(a ask, e *entry, now time.Time) {
	switch {
	case e.page != nil:
		t.gave(a.stamps, &e.page.Meta, now)
	case e.standing != nil:
		t.gave(a.stamps, &e.standing.Meta, now)
	}
}

// ages tells the age of each board's oldest answer. Boards are known once they are asked about.
type ages struct {
	tier *Tier
	age  *prometheus.Desc
}

func newAges(t *Tier) ages {
	return ages{t, prometheus.NewDesc("rankgate_cachetier_oldest_answer_seconds",
		"Age, counted from its as_of, of the oldest answer that was given of the board in the last 30 to 60 s, whatever its status but updating; absent where none was given.",
		[]string{"board"}, nil)}
}

// Describe is of prometheus.Collector.
func (a ages) Describe(to chan<- *prometheus.Desc) { to <- a.age }

// Collect is of prometheus.Collector.
func (a ages) Collect(to chan<- prometheus.Metric) {
	now := time.Now()
	for id, b := range *a.tier.boards.Load() {
		if age, ok := b.oldest.age(now); ok {
			to <- prometheus.MustNewConstMetric(a.age, prometheus.GaugeValue, age.Seconds(), string(id))
		}
	}
}
