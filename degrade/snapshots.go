package degrade

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// What a board says nothing about.
const (
	DefaultSnapshotEvery  = time.Second
	DefaultSnapshotMaxAge = 24 * time.Hour
)

// SnapshotsConfig says which snapshots are kept, and where.
type SnapshotsConfig struct {
	Dir        string            // made when the first snapshot is written
	Boards     []*rankcore.Board // at least one
	Logger     *slog.Logger      // nil: none
	Registerer prometheus.Registerer
}

// Snapshots are the heads of all boards' current seasons, in memory and on disk, for times when the core does not
// answer. What an earlier process wrote is there from the start. Safe for concurrent use; a nil one has nothing.
type Snapshots struct {
	dir     string
	boards  []*rankcore.Board
	log     *slog.Logger
	metrics *snapshotMetrics

	// mu guards heads and the maps in them. Never held while asking or writing.
	mu    sync.RWMutex
	heads map[seasonKey]*head

	files map[seasonKey]*snapshotFile // Run's, once it runs
}

type seasonKey struct {
	board  rankcore.BoardID
	season rankcore.SeasonID
}

// OpenSnapshots reads the snapshots in the folder. A file that cannot be used is passed over with a line in the
// log. Nothing is written before Run.
func OpenSnapshots(cfg SnapshotsConfig) *Snapshots {
	s := &Snapshots{
		dir: cfg.Dir, boards: cfg.Boards, log: cfg.Logger, metrics: newSnapshotMetrics(cfg.Registerer),
		heads: make(map[seasonKey]*head), files: make(map[seasonKey]*snapshotFile),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.load()
	return s
}

// find is a season's head, unless it is too old to be shown. It needs mu.
func (s *Snapshots) find(b *rankcore.Board, season rankcore.SeasonID) *head {
	h := s.heads[seasonKey{b.ID, season}]
	if h == nil || time.Since(h.page.AsOf) > maxAge(b) {
		return nil
	}
	return h
}

// look is what cut makes of a season's head; nil without a head.
func look[T any](s *Snapshots, b *rankcore.Board, season rankcore.SeasonID, cut func(*head) *T) *T {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if h := s.find(b, season); h != nil {
		return cut(h)
	}
	return nil
}

func (s *Snapshots) top(q rankcore.TopQuery) *rankcore.Page {
	return look(s, q.Board, q.Season, func(h *head) *rankcore.Page { return h.rows(q.Offset, q.Limit) })
}

func (s *Snapshots) around(q rankcore.RowsQuery) *rankcore.Page {
	return look(s, q.Board, q.Season, func(h *head) *rankcore.Page { return h.around(q.Around, q.Limit) })
}

func (s *Snapshots) behind(q rankcore.RowsQuery) *rankcore.Page {
	return look(s, q.Board, q.Season, func(h *head) *rankcore.Page { return h.behind(q) })
}

func (s *Snapshots) rank(q rankcore.RankQuery) *rankcore.Standing {
	return look(s, q.Board, q.Season, func(h *head) *rankcore.Standing { return h.standing(q.User) })
}

// ranks is nil unless every user stands in the head.
func (s *Snapshots) ranks(q rankcore.RanksQuery) *rankcore.Standings {
	return look(s, q.Board, q.Season, func(h *head) *rankcore.Standings {
		batch := &rankcore.Standings{Meta: h.meta(), Users: make([]*rankcore.Standing, len(q.Users))}
		for i, u := range q.Users {
			if batch.Users[i] = h.standing(u); batch.Users[i] == nil {
				return nil
			}
		}
		return batch
	})
}

// left takes note that the core said a user is not ranked: a removed user must not come back in the next outage.
func (s *Snapshots) left(b *rankcore.Board, season rankcore.SeasonID, u rankcore.UserID) {
	if look(s, b, season, func(h *head) *rankcore.Standing { return h.standing(u) }) == nil {
		return // the rule, at the cost of a read lock
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.find(b, season); h != nil {
		delete(h.at, u)
	}
}

// shows reports whether a snapshot has the user that a question is about, and would answer it.
func (s *Snapshots) shows(k question) bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.heads[seasonKey{k.board, k.season}]
	if h == nil {
		return false
	}
	_, ok := h.at[k.user]
	return ok
}

// hold has page, of a board with this rule for ties, answer from now on.
func (s *Snapshots) hold(ties rankcore.Ties, k seasonKey, page *rankcore.Page) {
	h := newHead(ties, page)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads[k] = h
}

// held is the page that answers now, however old; nil when there is none.
func (s *Snapshots) held(k seasonKey) *rankcore.Page {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if h := s.heads[k]; h != nil {
		return h.page
	}
	return nil
}

// maxAge is how old an answer of the board may be and still be shown.
func maxAge(b *rankcore.Board) time.Duration {
	if b.SnapshotMaxAge > 0 {
		return b.SnapshotMaxAge
	}
	return DefaultSnapshotMaxAge
}

func snapshotEvery(b *rankcore.Board) time.Duration {
	if b.SnapshotEvery > 0 {
		return b.SnapshotEvery
	}
	return DefaultSnapshotEvery
}
