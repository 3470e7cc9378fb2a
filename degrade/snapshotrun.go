package degrade

import (
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

const (
	takeShare    = 10               // of this many seconds, one may go into taking snapshots
	confirmEvery = 10 * time.Second // a season that does not change is read and written this often
)

// turn is a season of a board whose snapshots are taken.
type turn struct {
	board  *rankcore.Board
	kind   rankcore.SeasonKind
	season rankcore.SeasonID // the current one, when its turn last came
	due    time.Time
	quiet  bool // it had not changed when it was last read
}

// Run takes snapshots through the guard until ctx ends, and then returns nil: of each board's current seasons in
// turn, no more often than the board says, and seldom enough that waiting for the core and the disk takes no
// more than a tenth of the time, over all boards; of a Redis server's time that is a small part. A sick core gives none, and the last ones stay. A snapshot
// that cannot be written answers all the same. Only one Run at a time.
func (s *Snapshots) Run(ctx context.Context, g *Guard) error {
	var turns []*turn
	for _, b := range s.boards {
		for _, k := range b.Seasons {
			turns = append(turns, &turn{board: b, kind: k})
		}
	}
	soonest := func() *turn {
		return slices.MinFunc(turns, func(a, b *turn) int { return a.due.Compare(b.due) })
	}
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
		t, began := soonest(), time.Now()
		s.take(ctx, g, t, began)
		t.due = began.Add(snapshotEvery(t.board))
		rest := min((takeShare-1)*time.Since(began), confirmEvery) // one that failed slowly is tried again soon enough
		wait.Reset(max(rest, time.Until(soonest().due)))
	}
}

// take reads the season's head, if it may have changed, and has it answer from now on.
func (s *Snapshots) take(ctx context.Context, g *Guard, t *turn, now time.Time) {
	if season := t.board.SeasonAt(t.kind, now).ID; season != t.season {
		t.season, t.quiet = season, false
		s.prune(now)
	}
	k := seasonKey{t.board.ID, t.season}
	q := rankcore.TopQuery{Board: t.board, Season: t.season}
	last := s.held(k)
	// On a board that is quiet the version tells cheaply that the rows need not be read. It is a hint only: a shard
	// that was behind may have changed and the newest message be the same. So now and then they are read all the same.
	if t.quiet && last != nil && now.Sub(last.AsOf) < confirmEvery {
		if page := g.confirmed(ctx, q); page == nil || unchanged(last, page) {
			return
		}
	}
	q.Limit = t.board.Head
	page := g.confirmed(ctx, q)
	if page == nil {
		return
	}
	t.quiet = last != nil && unchanged(last, page)
	s.hold(t.board.Ties, k, page)
	s.metrics.asOf.WithLabelValues(string(t.board.ID), t.kind.String()).Set(float64(page.AsOf.UnixMilli()) / 1e3)
	s.write(t.board, k, page)
}

func unchanged(a, b *rankcore.Page) bool { return a.Version == b.Version && a.Total == b.Total }

// confirmed is the core's page, nil unless it is fresh.
func (g *Guard) confirmed(ctx context.Context, q rankcore.TopQuery) *rankcore.Page {
	page, err := ask(ctx, g, q.Board.ID, func(ctx context.Context) (*rankcore.Page, error) {
		return g.source.Top(ctx, q)
	})
	if err != nil || page.Status != rankcore.Fresh {
		return nil
	}
	return page
}

// write puts the page on disk, unless what is there says the same.
func (s *Snapshots) write(b *rankcore.Board, k seasonKey, page *rankcore.Page) {
	f := s.files[k]
	if f == nil {
		f = newSnapshotFile(s.dir, k)
		s.files[k] = f
	}
	if f.says(page) {
		return
	}
	began := time.Now()
	err := f.write(b, page)
	if err != nil {
		s.metrics.failed.Inc()
	} else {
		s.metrics.writes.Observe(time.Since(began).Seconds())
	}
	if failing := err != nil; failing != f.failing {
		f.failing = failing
		if failing {
			s.log.Error("snapshots cannot be written; after a restart in an outage older ones would answer, or none",
				"board", k.board, "season", k.season, "cause", err)
		} else {
			s.log.Info("snapshots are written again", "board", k.board, "season", k.season)
		}
	}
}

// prune drops what is too old to be shown, mostly of seasons that are over.
func (s *Snapshots) prune(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boards {
		for k, h := range s.heads {
			if k.board != b.ID || now.Sub(h.page.AsOf) <= maxAge(b) {
				continue
			}
			delete(s.heads, k)
			if f := s.files[k]; f != nil {
				f.remove()
				delete(s.files, k)
			}
		}
	}
}
