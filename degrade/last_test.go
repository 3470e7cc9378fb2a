package degrade

import (
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

func TestMemoryIsBoundedByRecentUse(t *testing.T) {
	m := newMemory[rankcore.Page](2)
	ask := func(limit int) question { return question{board: "power", limit: limit} }
	page := &rankcore.Page{Meta: freshNow("all")}
	m.keep(ask(1), page, page.Meta)
	m.keep(ask(2), page, page.Meta)
	if _, ok := m.last(ask(1), time.Hour); !ok {
		t.Fatal("1 was forgotten while there was room")
	}
	m.keep(ask(3), page, page.Meta)
	for limit, want := range map[int]bool{1: true, 2: false, 3: true} {
		if _, ok := m.last(ask(limit), time.Hour); ok != want {
			t.Errorf("question %d remembered: %v, want %v", limit, ok, want)
		}
	}
	if len(m.byKey) != 2 || m.recent.Len() != 2 {
		t.Fatalf("holds %d and %d, want 2", len(m.byKey), m.recent.Len())
	}
}

// An answer in whose place an older one would be shown is not forgotten for others, as long as there are others.
func TestMemorySparesWhatIsNeeded(t *testing.T) {
	m := newMemory[rankcore.Page](3)
	m.needed = func(q question) bool { return q.user == "abe" || q.user == "all" }
	page := &rankcore.Page{Meta: freshNow("all")}
	keep := func(u rankcore.UserID, limit int) {
		m.keep(question{board: "power", user: u, limit: limit}, page, page.Meta)
	}
	keep("abe", 0)
	for limit := range 10 {
		keep("bill", limit)
	}
	if _, ok := m.last(question{board: "power", user: "abe"}, time.Hour); !ok {
		t.Error("it was forgotten for others")
	}
	for limit := range 10 {
		keep("all", limit)
	}
	if len(m.byKey) != 3 || m.recent.Len() != 3 {
		t.Errorf("holds %d and %d, want 3", len(m.byKey), m.recent.Len())
	}
}

func TestMemoryNeverGoesBackInTime(t *testing.T) {
	m := newMemory[rankcore.Page](2)
	older, newer := &rankcore.Page{Meta: freshNow("all")}, &rankcore.Page{Meta: freshNow("all")}
	newer.AsOf = older.AsOf.Add(time.Second)
	m.keep(question{}, newer, newer.Meta)
	m.keep(question{}, older, older.Meta)
	if got, _ := m.last(question{}, time.Hour); got != newer {
		t.Fatal("an answer that came late replaced a newer one")
	}
}

func TestMemoryHoldsWhatShowsSomethingAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory[rankcore.Page](2)
		nothing := &rankcore.Page{Meta: updating("all", rankcore.CoreSlow)}
		m.keep(question{}, nothing, nothing.Meta)
		if _, ok := m.last(question{}, time.Hour); ok {
			t.Fatal("that there is no answer was remembered as one")
		}
		page := &rankcore.Page{Meta: freshNow("all")}
		m.keep(question{}, page, page.Meta)
		time.Sleep(time.Hour)
		if _, ok := m.last(question{}, time.Hour); !ok {
			t.Fatal("forgotten at its age limit, want only past it")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := m.last(question{}, time.Hour); ok {
			t.Fatal("shown past its age limit")
		}
	})
}
