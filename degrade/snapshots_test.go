package degrade

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// heads is a core whose board daily has rows the test sets. Each question for rows takes it slow.
type heads struct {
	*sickable
	rows atomic.Int64 // questions for rows
	slow time.Duration

	mu   sync.Mutex
	page *rankcore.Page
}

func newHeads() *heads {
	h := &heads{sickable: newSickable(), page: pageOf("", time.Time{}, "a")}
	h.page.Total = 4
	h.top = func(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
		if err := h.failure(ctx); err != nil {
			return nil, err
		}
		h.mu.Lock()
		page := h.page.With(h.page.Meta)
		h.mu.Unlock()
		page.Season, page.AsOf = q.Season, time.Now()
		if q.Limit == 0 {
			page.Entries = nil
			return page, nil
		}
		h.rows.Add(1)
		time.Sleep(h.slow)
		return page, nil
	}
	return h
}

// change is one more message on the board.
func (h *heads) change() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.page.Version.Seq++
}

// running takes snapshots of daily in dir, until stop.
func running(t *testing.T, dir string, core *heads) (g *Guard, s *Snapshots, stop func()) {
	t.Helper()
	s = OpenSnapshots(SnapshotsConfig{Dir: dir, Boards: []*rankcore.Board{daily}})
	g = NewGuard(Config{Source: core, Snapshots: s})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, g) }()
	return g, s, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func TestSnapshotsAreTakenAtTheBoardsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newHeads()
		_, _, stop := running(t, t.TempDir(), core)
		defer stop()
		// Twice each season, to learn that it is quiet; then by the version alone, and every 10 s once more.
		time.Sleep(30*time.Second + DefaultSnapshotEvery/2)
		if got, want := core.rows.Swap(0), int64(2*(1+1+3)); got > want {
			t.Errorf("a quiet board's rows were asked for %d times, want at most %d", got, want)
		}
		if got, want := core.asked.Swap(0), int64(2*31); got > want+10 {
			t.Errorf("%d questions in 30 s about 2 seasons, want one each second and a few more", got)
		}
		for range 30 {
			core.change()
			time.Sleep(time.Second)
		}
		if rows, all := core.rows.Load(), core.asked.Load(); rows < 50 || rows > 62 || all > rows+2 {
			t.Errorf("a board that changes: %d questions, %d of them for rows, want one each second and season", all, rows)
		}
	})
}

func TestSnapshotsTakeASmallPartOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newHeads()
		core.slow = 200 * time.Millisecond
		_, _, stop := running(t, t.TempDir(), core)
		for range 600 {
			core.change()
			time.Sleep(100 * time.Millisecond)
		}
		if rows := core.rows.Load(); rows < 25 || rows > 31 {
			t.Errorf("asked %d times in 60 s for what takes 0.2 s, want a tenth of the time", rows)
		}
		stop()
		time.Sleep(core.slow) // the question under way is over
	})
}

func TestStartInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, core := t.TempDir(), newHeads()
		_, _, stop := running(t, dir, core)
		time.Sleep(5 * time.Second)
		stop()
		taken := time.Now()

		core.sicken(down)
		g, _, stop := running(t, dir, core) // another process, for all it knows
		defer stop()
		page, err := g.Top(t.Context(), rankcore.TopQuery{Board: daily, Season: "all", Offset: 1, Limit: 2})
		if err != nil || page.Status != rankcore.Stale || page.Reason != rankcore.FromSnapshot || users(page) != "@z/o e~.é"+string(core.page.Entries[2].User) {
			t.Errorf("top: %+v, %v", page, err)
		}
		if taken.Sub(page.AsOf) > DefaultSnapshotEvery+confirmEvery {
			t.Errorf("as of %v before", taken.Sub(page.AsOf))
		}
		rank := func(u rankcore.UserID) *rankcore.Standing {
			st, err := g.Rank(t.Context(), rankcore.RankQuery{Board: daily, Season: "all", User: u})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		if st := rank("b"); st.Status != rankcore.Stale || st.Reason != rankcore.FromSnapshot || st.Rank != 4 || st.Precision != rankcore.Exact {
			t.Errorf("rank in the head: %+v", st)
		}
		if st := rank("nobody"); st.Status != rankcore.Updating || st.Reason != rankcore.CoreDown {
			t.Errorf("rank of whom it does not know: %+v", st)
		}
		around, err := g.Rows(t.Context(), rankcore.RowsQuery{Board: daily, Season: "all", Around: "b", Limit: 1})
		if err != nil || around.Reason != rankcore.FromSnapshot || users(around) != "b" {
			t.Errorf("around: %+v, %v", around, err)
		}
		for whole, list := range map[bool][]rankcore.UserID{true: {"b", "a", "b"}, false: {"b", "nobody"}} {
			batch, err := g.Ranks(t.Context(), rankcore.RanksQuery{Board: daily, Season: "all", Users: list})
			if err != nil || batch.Status != rankcore.Stale || batch.Whole() != whole || batch.Users[0].Meta != batch.Meta {
				t.Errorf("ranks of %v: %+v, %v", list, batch, err)
			}
		}
		time.Sleep(daily.SnapshotMaxAge)
		if page, err = g.Top(t.Context(), rankcore.TopQuery{Board: daily, Season: "all", Limit: 2}); err != nil || page.Status != rankcore.Updating {
			t.Errorf("past its greatest age: %+v, %v", page, err)
		}
		core.heal()
		time.Sleep(openFor)
		if page, err = g.Top(t.Context(), rankcore.TopQuery{Board: daily, Season: "all", Limit: 2}); err != nil || page.Status != rankcore.Fresh {
			t.Errorf("healed: %+v, %v", page, err)
		}
	})
}

func TestNewerOfLastAnswerAndSnapshotIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newHeads()
		s := OpenSnapshots(SnapshotsConfig{Dir: t.TempDir(), Boards: []*rankcore.Board{daily}})
		g := NewGuard(Config{Source: core, Snapshots: s})
		q := rankcore.TopQuery{Board: daily, Season: "all", Limit: 2}
		take := func() *rankcore.Page {
			s.take(t.Context(), g, &turn{board: daily}, time.Now())
			return s.held(seasonKey{"daily", "all"})
		}
		ask := func() *rankcore.Page {
			page, err := g.Top(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return page
		}
		take()
		time.Sleep(time.Second)
		last := ask()
		core.sicken(down)
		if page := ask(); !page.AsOf.Equal(last.AsOf) || page.Reason != rankcore.CoreDown {
			t.Errorf("the last answer is newer: %+v", page.Meta)
		}
		core.heal()
		time.Sleep(time.Second)
		snapshot := take()
		core.sicken(down)
		if page := ask(); !page.AsOf.Equal(snapshot.AsOf) || page.Reason != rankcore.CoreDown || len(page.Entries) != 2 {
			t.Errorf("the snapshot is newer: %+v", page.Meta)
		}
	})
}

// The snapshot still has a user whom the core has since called unranked.
func TestRemovedUserDoesNotComeBackFromTheSnapshot(t *testing.T) {
	core := newHeads()
	s := OpenSnapshots(SnapshotsConfig{Dir: t.TempDir(), Boards: []*rankcore.Board{daily}})
	g := NewGuard(Config{Source: core, Snapshots: s})
	s.take(t.Context(), g, &turn{board: daily}, time.Now())
	core.sicken(func(context.Context) error { return rankcore.ErrNotRanked })
	q := rankcore.RankQuery{Board: daily, Season: "all", User: "b"}
	if _, err := g.Rank(t.Context(), q); !errors.Is(err, rankcore.ErrNotRanked) {
		t.Fatalf("after the removal: %v", err)
	}
	core.sicken(down)
	if st, err := g.Rank(t.Context(), q); err != nil || st.Status != rankcore.Updating {
		t.Errorf("in the outage: %+v, %v", st, err)
	}
}

// At the end of a day the new one has no snapshot until the core gives one, and the old one's stays until it is too old.
func TestSnapshotsFollowTheCalendar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, dir := newHeads(), t.TempDir()
		s := OpenSnapshots(SnapshotsConfig{Dir: dir, Boards: []*rankcore.Board{daily}})
		g := NewGuard(Config{Source: core, Snapshots: s})
		days := &turn{board: daily, kind: rankcore.Day}
		take := func() { s.take(t.Context(), g, days, time.Now()) }
		want := func(when string, first, second bool) {
			t.Helper()
			loaded := OpenSnapshots(SnapshotsConfig{Dir: dir, Boards: []*rankcore.Board{daily}})
			for season, want := range map[rankcore.SeasonID]bool{"day:2000-01-01": first, "day:2000-01-02": second} {
				for where, in := range map[string]*Snapshots{"memory": s, "disk": loaded} {
					if got := in.held(seasonKey{"daily", season}) != nil; got != want {
						t.Errorf("%s: %s in %s: %v, want %v", when, season, where, got, want)
					}
				}
			}
		}
		take() // in a bubble it is midnight in UTC, the first of January 2000
		time.Sleep(24*time.Hour - time.Minute)
		take()
		want("before midnight", true, false)
		core.sicken(down)
		time.Sleep(time.Minute)
		take()
		want("in an outage after midnight", true, false)
		core.heal()
		take()
		want("after midnight", true, true)
		time.Sleep(24*time.Hour - time.Minute)
		take()
		time.Sleep(time.Minute)
		take()
		want("a day later", false, true)
	})
}
