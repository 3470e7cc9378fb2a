package loadtest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

// stub serves the part of the contract that loadtest calls, from maps and one lock, by the rules of rankcore.
// It is right unless a test breaks it on purpose.
type stub struct {
	board *rankcore.Board
	asked atomic.Int64

	// Set before the first request.
	broken  func(op *rankcore.Op, n int) int                // how often the n-th operation counts; 1 is right
	order   func(ops []rankcore.Op)                         // changes the order within a batch
	ill     bool                                            // reads answer 503
	shown   func(rows []rankcore.Entry)                     // changes the rows of a season before they are shown
	arrival func(rankcore.Arrival) rankcore.Arrival         // changes when a score was reached
	moved   bool                                            // a score that is set again is reached anew
	reply   func(w http.ResponseWriter, n int64) (cut bool) // before or instead of the answer to the n-th write

	mu      sync.Mutex // guards all below
	scores  map[rankcore.SeasonID]map[rankcore.UserID]rankcore.Score
	arrived map[rankcore.SeasonID]map[rankcore.UserID]rankcore.Arrival
	hidden  map[rankcore.UserID]bool
	memory  map[rankcore.OpKey]bool
	taken   int
	written int64
}

func newStub(b *rankcore.Board) *stub {
	return &stub{
		board:   b,
		scores:  map[rankcore.SeasonID]map[rankcore.UserID]rankcore.Score{},
		arrived: map[rankcore.SeasonID]map[rankcore.UserID]rankcore.Arrival{},
		hidden:  map[rankcore.UserID]bool{}, memory: map[rankcore.OpKey]bool{},
	}
}

// client serves the stub and returns a client of it.
func (s *stub) client(t *testing.T) *loadtest.Client {
	t.Helper()
	client, err := loadtest.NewClient(loadtest.ClientConfig{URL: s.serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func (s *stub) serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/boards/{board}/scores", s.write)
	mux.HandleFunc("GET /v1/boards/{board}/top", s.top)
	mux.HandleFunc("GET /v1/boards/{board}/users/{user}/rank", s.rank)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if s.ill && r.Method == http.MethodGet {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"type":"about:blank","title":"ill","status":503}`)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (s *stub) write(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
	now := time.Now()
	ops, err := rankcore.ParseOps(s.board, body, now)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	accepted := len(ops)
	if s.order != nil {
		s.order(ops)
	}
	for _, op := range ops {
		s.taken++
		times := 1
		if s.broken != nil {
			times = s.broken(&op, s.taken)
		}
		for range times {
			s.fold(op, now, times > 1)
		}
	}
	if s.reply != nil && s.reply(w, s.written) {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"accepted":%d,"position":"%d-1"}`, accepted, s.taken)
}

func (s *stub) fold(op rankcore.Op, now time.Time, again bool) {
	if s.memory[op.Key()] && !again {
		return
	}
	s.memory[op.Key()] = true
	switch op.Kind {
	case rankcore.OpHide, rankcore.OpShow:
		s.hidden[op.User] = op.Kind == rankcore.OpHide
	case rankcore.OpRemove:
		delete(s.hidden, op.User)
		for _, scores := range s.scores {
			delete(scores, op.User)
		}
	default:
		s.score(op, now)
	}
}

func (s *stub) score(op rankcore.Op, now time.Time) {
	at := op.At
	if at.IsZero() {
		at = now
	}
	next := map[rankcore.SeasonID]rankcore.Score{}
	for _, season := range rankcore.NewCalendar(s.board).Seasons(at, now) {
		old, had := s.scores[season.ID][op.User]
		value := op.Value
		if op.Kind == rankcore.OpAdd {
			value += old
		}
		if op.Kind == rankcore.OpBest && had && !s.board.Order.Better(value, old) {
			value = old
		}
		if !value.InRange() {
			return
		}
		next[season.ID] = value
	}
	for id, value := range next {
		if s.scores[id] == nil {
			s.scores[id] = map[rankcore.UserID]rankcore.Score{}
			s.arrived[id] = map[rankcore.UserID]rankcore.Arrival{}
		}
		if old, had := s.scores[id][op.User]; had && old == value && !s.moved {
			continue
		}
		s.scores[id][op.User] = value
		if s.board.Ties == rankcore.TiesFirst {
			s.arrived[id][op.User] = s.reached()
		}
	}
}

// reached is the arrival of the operation that is taken.
func (s *stub) reached() rankcore.Arrival {
	if s.arrival != nil {
		return s.arrival(rankcore.Arrival(s.taken))
	}
	return rankcore.Arrival(s.taken)
}

// rows is a whole season, ranked.
func (s *stub) rows(season rankcore.SeasonID) []rankcore.Entry {
	var rows []rankcore.Entry
	for u, score := range s.scores[season] {
		if !s.hidden[u] {
			rows = append(rows, rankcore.Entry{User: u, Score: score, Arrival: s.arrived[season][u]})
		}
	}
	slices.SortFunc(rows, s.board.Order.Compare)
	for i := range rows {
		rows[i].Rank = int64(i + 1)
		if i > 0 && rows[i].Score == rows[i-1].Score && s.board.Ties == rankcore.TiesShared {
			rows[i].Rank = rows[i-1].Rank
		}
	}
	if s.shown != nil {
		s.shown(rows)
	}
	return rows
}

func (s *stub) top(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	rows := s.rows(rankcore.SeasonID(r.FormValue("season")))
	var entries []string
	for _, e := range rows[min(offset, len(rows)):min(offset+limit, len(rows))] {
		entries = append(entries, fmt.Sprintf(`{"rank":%d,"user":%s,"score":%s}`, e.Rank, quoted(e.User), s.number(e.Score)))
	}
	fmt.Fprintf(w, `{%s,"entries":[%s]}`, s.meta(r, len(rows)), strings.Join(entries, ","))
}

func (s *stub) rank(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.rows(rankcore.SeasonID(r.FormValue("season")))
	user := rankcore.UserID(r.PathValue("user"))
	i := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == user })
	if i < 0 {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type":"https://example.org/problems/user-not-ranked","title":"not ranked","status":404}`)
		return
	}
	tied, worse := 0, int64(0)
	for _, e := range rows {
		if e.Score == rows[i].Score {
			tied++
		}
		if s.board.Order.Better(rows[i].Score, e.Score) {
			worse++
		}
	}
	if s.board.Ties == rankcore.TiesFirst {
		worse = int64(len(rows)) - rows[i].Rank
	}
	fmt.Fprintf(w, `{%s,"user":%s,"score":%s,"rank":%d,"precision":"exact","tied":%d,"percentile":%v}`, s.meta(r, len(rows)),
		quoted(user), s.number(rows[i].Score), rows[i].Rank, tied, rankcore.Percentile(worse, int64(len(rows))))
}

func (s *stub) meta(r *http.Request, total int) string {
	return fmt.Sprintf(`"board":%q,"season":%q,"status":"fresh","as_of":%q,"version":"1","total":%d`,
		s.board.ID, r.FormValue("season"), time.Now().UTC().Format(time.RFC3339Nano), total)
}

func (s *stub) number(score rankcore.Score) string {
	text := string(rankcore.AppendScore(nil, score, s.board.Scale))
	if s.board.Scale > 0 {
		return strconv.Quote(text)
	}
	return text
}
