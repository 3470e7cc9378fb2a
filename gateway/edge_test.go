package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

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
		Boards: boards(), Reader: c, Writer: c, Applied: c, Outcomes: c, Verifier: c, Floor: c,
		Health: func(context.Context) Health { return Health{Ready: true} },
		Limits: Limits{PerAddressRPS: -1}, // tests ask as fast as they can, from no address at all
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
	deadline := time.Now().Add(30 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		<-time.After(2 * time.Millisecond)
	}
}
