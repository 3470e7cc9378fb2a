package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rankgate/rankcore"
)

// core is a whole ranking in a map, the obvious way: what is behind the gateway in these tests. Operations
// wait in its log while it is held, and every call fails with down while that is set.
type core struct {
	mu     sync.Mutex
	seq    uint64
	scores map[rankcore.BoardID]map[rankcore.UserID]rankcore.Score
	hidden map[rankcore.BoardID]map[rankcore.UserID]bool
	memory map[rankcore.OpKey]remembered
	log    []func()
	held   bool
	down   error
	floors int
	moved  chan struct{} // closed and renewed when something is applied

	page func(*rankcore.Page)     // what a layer in front would make of an answer
	rank func(*rankcore.Standing) // the same
}

type remembered struct {
	digest  uint32
	outcome rankcore.Outcome
}

func newCore() *core {
	return &core{
		scores: map[rankcore.BoardID]map[rankcore.UserID]rankcore.Score{},
		hidden: map[rankcore.BoardID]map[rankcore.UserID]bool{},
		memory: map[rankcore.OpKey]remembered{},
		moved:  make(chan struct{}),
	}
}

func (c *core) Append(_ context.Context, b *rankcore.Board, ops []rankcore.Op) (Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return Receipt{}, c.down
	}
	c.seq++
	ops = slices.Clone(ops)
	c.log = append(c.log, func() {
		for i := range ops {
			c.apply(b, &ops[i])
		}
	})
	if !c.held {
		c.drain()
	}
	name := rankcore.Position{Seq: c.seq, Time: int64(c.seq) * 1e9}
	return Receipt{Position: fmt.Sprintf("%d-%d", c.seq, 1000), Name: name}, nil
}

// drain applies the log; mu is held.
func (c *core) drain() {
	for _, apply := range c.log {
		apply()
	}
	c.log = nil
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *core) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	c.drain()
}

func (c *core) apply(b *rankcore.Board, op *rankcore.Op) {
	if op.ID != "" {
		if _, known := c.memory[op.Key()]; known {
			return
		}
	}
	outcome := rankcore.Applied
	scores := c.scores[b.ID]
	if scores == nil {
		scores = map[rankcore.UserID]rankcore.Score{}
		c.scores[b.ID], c.hidden[b.ID] = scores, map[rankcore.UserID]bool{}
	}
	was, had := scores[op.User]
	switch op.Kind {
	case rankcore.OpAdd:
		if sum := was + op.Value; !sum.InRange() {
			outcome = rankcore.OutOfRange
		} else {
			scores[op.User] = sum
		}
	case rankcore.OpSet:
		scores[op.User] = op.Value
	case rankcore.OpBest:
		if !had || b.Order.Better(op.Value, was) {
			scores[op.User] = op.Value
		}
	case rankcore.OpRemove:
		delete(scores, op.User)
	case rankcore.OpHide:
		c.hidden[b.ID][op.User] = true
	case rankcore.OpShow:
		delete(c.hidden[b.ID], op.User)
	}
	if now, has := scores[op.User]; outcome == rankcore.Applied && op.Kind.HasValue() && has && had && now == was {
		outcome = rankcore.Unchanged
	}
	c.memory[op.Key()] = remembered{op.Digest(), outcome}
}

func (c *core) Outcomes(_ context.Context, _ *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	outcomes := make([]rankcore.Outcome, len(ops))
	for i := range ops {
		if m, known := c.memory[ops[i].Key()]; known {
			outcomes[i] = m.outcome
			if m.digest != ops[i].Digest() {
				outcomes[i] = rankcore.Conflict
			}
		}
	}
	return outcomes, nil
}

func (c *core) Applied(ctx context.Context, _ rankcore.BoardID, _ rankcore.Position) error {
	c.mu.Lock()
	pending, moved := len(c.log) > 0, c.moved
	c.mu.Unlock()
	if !pending {
		return nil
	}
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *core) Floor(rankcore.BoardID) { c.mu.Lock(); c.floors++; c.mu.Unlock() }

// standings are a board's ranked rows; mu is held.
func (c *core) standings(b *rankcore.Board) []rankcore.Entry {
	var rows []rankcore.Entry
	for u, s := range c.scores[b.ID] {
		if !c.hidden[b.ID][u] {
			rows = append(rows, rankcore.Entry{User: u, Score: s})
		}
	}
	slices.SortFunc(rows, b.Order.Compare)
	rankcore.SetRanks(rows, 0, 0)
	return rows
}

func (c *core) meta(season rankcore.SeasonID, total int) rankcore.Meta {
	m := rankcore.Meta{Season: season, Status: rankcore.Fresh, AsOf: time.Now(), Total: int64(total)}
	if c.seq > 0 {
		m.Version = rankcore.Position{Seq: c.seq, Time: int64(c.seq) * 1e9}
	}
	return m
}

func (c *core) Top(_ context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	rows := c.standings(q.Board)
	page := &rankcore.Page{Meta: c.meta(q.Season, len(rows))}
	page.Entries = rows[min(q.Offset, len(rows)):min(q.Offset+q.Limit, len(rows))]
	if c.page != nil {
		c.page(page)
	}
	return page, nil
}

func (c *core) Rank(_ context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	rows := c.standings(q.Board)
	at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == q.User })
	if at < 0 {
		return nil, rankcore.ErrNotRanked
	}
	me := rows[at]
	s := &rankcore.Standing{
		Meta: c.meta(q.Season, len(rows)), User: me.User, Score: me.Score,
		Precision: rankcore.Exact, Rank: me.Rank, Low: me.Rank, High: me.Rank,
	}
	worse := int64(0)
	for _, e := range rows {
		if e.Score == me.Score {
			s.Tied++
		} else if e.Rank > me.Rank {
			worse++
		}
	}
	s.Percentile = rankcore.Percentile(worse, int64(len(rows)))
	if q.Precision == rankcore.Approx {
		s.Precision, s.Tied, s.Low, s.High = rankcore.Approx, 0, max(1, me.Rank-1), min(int64(len(rows)), me.Rank+1)
	}
	if c.rank != nil {
		c.rank(s)
	}
	return s, nil
}

func board(id string, change func(*rankcore.Board)) *rankcore.Board {
	b := &rankcore.Board{
		ID: rankcore.BoardID(id), Shards: 4, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
		Head: 1000, ExactDepth: 1e6, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
	if change != nil {
		change(b)
	}
	return b
}

// boards are what the tests play on: power adds, coins has two decimals and seasons, laps is ascending.
func boards() []*rankcore.Board {
	return []*rankcore.Board{
		board("power", nil),
		board("coins", func(b *rankcore.Board) {
			b.Update, b.Scale = rankcore.UpdateSet, 2
			b.Seasons = []rankcore.SeasonKind{rankcore.Day, rankcore.Week}
			b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour}
		}),
		board("laps", func(b *rankcore.Board) { b.Order, b.Update = rankcore.Asc, rankcore.UpdateBest }),
	}
}

// edge is a gateway over a core.
type edge struct {
	*core
	*Gateway
	t *testing.T
}

func newEdge(t *testing.T, change func(*Config)) *edge {
	t.Helper()
	c := newCore()
	cfg := Config{
		Boards: boards(), Reader: c, Writer: c, Applied: c, Outcomes: c, Floor: c,
		Health: func(context.Context) Health { return Health{Ready: true} },
	}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &edge{core: c, Gateway: g, t: t}
}

// reply is an answer, read.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// call sends one request. Headers come as name, value, name, value.
func (e *edge) call(method, path, body string, headers ...string) reply {
	e.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, "http://edge/", content)
	req.RequestURI = path // as it stands, percent-encoding included
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := e.App().Test(req, -1)
	if err != nil {
		e.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return reply{e.t, res.StatusCode, res.Header, string(read)}
}

func (e *edge) get(path string, headers ...string) reply {
	e.t.Helper()
	return e.call("GET", path, "", headers...)
}

// post writes operations, given as the inside of the ops array.
func (e *edge) post(board, ops string) reply {
	e.t.Helper()
	return e.call("POST", "/v1/boards/"+board+"/scores", `{"ops":[`+ops+`]}`)
}

// want checks the status.
func (r reply) want(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// json reads the body into a map, numbers as they are written.
func (r reply) json() map[string]any {
	r.t.Helper()
	d := json.NewDecoder(strings.NewReader(r.body))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	return m
}

// field checks one member of the body, by its text.
func (r reply) field(name, want string) reply {
	r.t.Helper()
	if got := fmt.Sprint(r.json()[name]); got != want {
		r.t.Errorf("%s is %q, want %q: %s", name, got, want, r.body)
	}
	return r
}

// problem checks that the answer is a problem of this kind and repeats nothing of the request.
func (r reply) problem(k *kind) reply {
	r.t.Helper()
	r.want(k.status).field("type", "/problems/"+k.name).field("status", fmt.Sprint(k.status))
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("Content-Type %q", got)
	}
	return r
}

// rows are the entries as "1 alice 120, ...".
func (r reply) rows() string {
	r.t.Helper()
	var page struct {
		Entries []struct {
			Rank  int
			User  string
			Score json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(r.body), &page); err != nil {
		r.t.Fatal(err)
	}
	var rows []string
	for _, e := range page.Entries {
		rows = append(rows, fmt.Sprintf("%d %s %s", e.Rank, e.User, e.Score))
	}
	return strings.Join(rows, ", ")
}

var errTest = errors.New("a cause that names redis-7.internal")

// unavailable is what a store says that cannot answer.
func unavailable(r rankcore.Reason) error { return &rankcore.Unavailable{Reason: r, Cause: errTest} }

// eventually waits until is holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		<-time.After(2 * time.Millisecond)
	}
}
