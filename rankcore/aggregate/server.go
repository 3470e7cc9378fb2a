package aggregate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

const (
	// DefaultEvery is the shortest time from one reading of a season's first rows to the next: ten a second bound what
	// gateways cost the shards, however many there are.
	DefaultEvery = 100 * time.Millisecond

	// atOnce bounds the questions that are answered at one time; more are refused.
	atOnce = 1024
	// forgetAfter is how long rows of a season are kept that nobody asks for.
	forgetAfter = time.Minute
	// answerWithin bounds how long a question waits for its rows.
	answerWithin = time.Second
)

// ServerConfig describes a server.
type ServerConfig struct {
	Conn       *nats.Conn
	Boards     []*rankcore.Board
	Shards     string                // names the shards, in letters and digits: clients of others are not answered
	Source     rankcore.Reader       // the shards
	Index      Index                 // nil: nothing is told about counts
	Every      time.Duration         // 0: DefaultEvery
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no metrics
}

// Server answers for the boards that this process applies. It is told by the applier what changed (Announce), how far
// it is (Progress) and that it has stopped (Withdraw), each before anybody else is. Safe for concurrent use.
type Server struct {
	cfg         ServerConfig
	metrics     *serverMetrics
	boards      map[rankcore.BoardID]*board // fixed
	wake        chan struct{}               // a board has begun or stopped to be applied here
	rowPlaces   chan struct{}               // atOnce of them
	countPlaces chan struct{}               // countAtOnce of them

	ctx  context.Context // Run's; set before the first question
	work sync.WaitGroup
}

// board is what a server keeps of one.
type board struct {
	*rankcore.Board
	state  boardState
	askers askers
	subs   []*nats.Subscription // only Run touches them

	mu      sync.Mutex // guards seasons
	seasons map[rankcore.SeasonID]*readings
}

// NewServer returns a server. It answers nobody before Run.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Every <= 0 {
		cfg.Every = DefaultEvery
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg: cfg, metrics: newServerMetrics(cfg.Registerer), boards: make(map[rankcore.BoardID]*board, len(cfg.Boards)),
		wake: make(chan struct{}, 1), rowPlaces: make(chan struct{}, atOnce), countPlaces: make(chan struct{}, countAtOnce),
	}
	for _, b := range cfg.Boards {
		s.boards[b.ID] = &board{Board: b, seasons: map[rankcore.SeasonID]*readings{}}
	}
	return s
}

// Announce takes note that a board changed.
func (s *Server) Announce(c rankcore.Change) {
	if b := s.boards[c.Board]; b != nil {
		b.state.announce()
	}
}

// Progress takes note of how far the applier of this process is.
func (s *Server) Progress(p rankcore.Progress) {
	if b := s.boards[p.Board]; b != nil && b.state.tell(p) {
		s.awake()
	}
}

// Withdraw takes note that this process does not apply the board any more.
func (s *Server) Withdraw(id rankcore.BoardID) {
	if b := s.boards[id]; b != nil {
		b.state.withdraw()
		s.awake()
	}
}

func (s *Server) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run answers until ctx ends, and returns nil when every answer under way is given. A board that is not applied here
// is not subscribed to, so that whoever asks for it learns at once that nobody answers.
func (s *Server) Run(ctx context.Context) error {
	s.ctx = ctx
	defer s.work.Wait()
	defer func() {
		for _, b := range s.boards {
			b.unsubscribe()
		}
	}()
	for {
		for id, b := range s.boards {
			if leads := b.state.isLeading(); leads == (len(b.subs) > 0) {
				continue
			} else if !leads {
				b.unsubscribe()
				continue
			}
			if err := s.subscribe(b); err != nil {
				return fmt.Errorf("subscribe to questions about board %s: %w", id, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
	}
}

func (s *Server) subscribe(b *board) error {
	takes := map[string]func(*board, *nats.Msg){headSubject(s.cfg.Shards, b.ID): s.take}
	if s.cfg.Index != nil {
		takes[countSubject(s.cfg.Shards, b.ID)] = s.takeCount
	}
	for subject, take := range takes {
		sub, err := s.cfg.Conn.Subscribe(subject, func(m *nats.Msg) { take(b, m) })
		if err != nil {
			return err
		}
		b.subs = append(b.subs, sub)
	}
	return nil
}

func (b *board) unsubscribe() {
	for _, sub := range b.subs {
		_ = sub.Unsubscribe() // the connection may be closed already
	}
	b.subs = nil
}

// errCrowded: there is no place for one more question.
var errCrowded = errors.New("too many questions at once")

// beside runs answer beside others, where there is a place.
func (s *Server) beside(places chan struct{}, answer func()) bool {
	select {
	case places <- struct{}{}:
	default:
		return false
	}
	s.work.Go(func() {
		defer func() { <-places }()
		answer()
	})
	return true
}

// take answers a question for rows beside the others.
func (s *Server) take(b *board, m *nats.Msg) {
	arrived := time.Now()
	answer := func() {
		payload, err := s.answer(b, m.Data, arrived)
		if err != nil {
			s.refuse(m, err)
			return
		}
		s.metrics.answered.Inc()
		_ = m.Respond(payload) // unanswered, the asker reads the shards itself
	}
	if !s.beside(s.rowPlaces, answer) {
		s.refuse(m, errCrowded)
	}
}

func (s *Server) refuse(m *nats.Msg, because error) {
	s.metrics.refused.Inc()
	s.cfg.Logger.Debug("a question of a gateway is refused", "subject", m.Subject, "because", because)
	_ = m.Respond([]byte{version, refused})
}

// answer is the payload for a question that arrived at the given time.
func (s *Server) answer(b *board, question []byte, arrived time.Time) ([]byte, error) {
	r, err := decodeRequest(question)
	if err != nil {
		return nil, err
	}
	if r.Rows > b.Head {
		return nil, fmt.Errorf("%d rows of a head of %d", r.Rows, b.Head)
	}
	season, err := b.ParseSeason(r.Season, arrived)
	if err != nil || string(season.ID) != r.Season {
		return nil, fmt.Errorf("season %q is none of board %s", r.Season, b.ID)
	}
	sharing := b.askers.count(r.Asker, arrived)
	var since time.Time
	if r.WithinNS != nil {
		since = arrived.Add(-time.Duration(*r.WithinNS))
	}
	ctx, cancel := context.WithTimeout(s.ctx, answerWithin)
	defer cancel()
	got, err := s.readingsOf(b, season.ID, arrived).get(ctx, since)
	if err != nil {
		return nil, err
	}
	progress, changes := b.state.now()
	if !whole(progress) {
		return nil, errNotWhole
	}
	current := got.caughtUp
	if changes == got.changes { // nothing has changed since, so the rows have what the log has had since, too
		current = progress.CaughtUp
	}
	n, rows := got.first(r.Rows)
	h := head{
		age: min(arrived.Sub(got.began), arrived.Sub(current)), behind: arrived.Sub(current), took: time.Since(arrived),
		sharing: int64(sharing), version: got.meta.Version, total: got.meta.Total,
	}
	payload := encodeHead(nil, h, n, rows)
	if most := s.cfg.Conn.MaxPayload(); int64(len(payload)) > most {
		return nil, fmt.Errorf("%d bytes of rows, and NATS takes %d", len(payload), most)
	}
	return payload, nil
}

// readingsOf are the season's, kept while somebody asks for them.
func (s *Server) readingsOf(b *board, season rankcore.SeasonID, now time.Time) *readings {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rs := b.seasons[season]; rs != nil {
		return rs
	}
	for id, rs := range b.seasons {
		if rs.idle(now) {
			delete(b.seasons, id)
		}
	}
	rs := &readings{
		state: &b.state, every: s.cfg.Every, asked: now, run: s.work.Go,
		read: func() (*rankcore.Page, error) {
			s.metrics.readings.Inc()
			return s.cfg.Source.Top(s.ctx, rankcore.TopQuery{Board: b.Board, Season: season, Limit: b.Head})
		},
	}
	b.seasons[season] = rs
	return rs
}

// idle reports whether nobody has asked for long.
func (rs *readings) idle(now time.Time) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.next == nil && now.Sub(rs.asked) > forgetAfter
}
