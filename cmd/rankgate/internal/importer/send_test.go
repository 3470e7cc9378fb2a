package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rankgate/rankcore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server takes scores as a rankgate does, after it let each request through trouble.
type server struct {
	url     string
	trouble func(n int64, w http.ResponseWriter) bool // reports whether it answered
	n       atomic.Int64

	mu    sync.Mutex // guards the rest
	ops   map[string]string
	order []string
}

func startServer(t *testing.T, trouble func(n int64, w http.ResponseWriter) bool) *server {
	t.Helper()
	s := &server{trouble: trouble, ops: map[string]string{}}
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	s.url = http.URL
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"board":"npm","order":"asc","scale":1,"update":"set"}`)
		return
	}
	if s.trouble != nil && s.trouble(s.n.Add(1), w) {
		return
	}
	var body struct {
		Ops []struct{ ID, User, Set string }
	}
	text, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(text, &body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range body.Ops {
		s.order = append(s.order, op.User)
		s.ops[op.User] = op.ID + "=" + op.Set
	}
	w.WriteHeader(http.StatusAccepted)
}

func send(t *testing.T, s *server, rows int) (*Rows, error) {
	t.Helper()
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "user \"%d\\,%d.5\n", i, i) // a quote and a backslash that need care in JSON
	}
	o := SendOptions{Server: s.url, Board: "npm", Patience: 30 * time.Second}
	b, err := AskBoard(t.Context(), o)
	if err != nil || b.Order != rankcore.Asc || b.Scale != 1 {
		t.Fatalf("AskBoard = %+v, %v", b, err)
	}
	read, err := Read(strings.NewReader(strings.ReplaceAll(text.String(), `"`, "'")), Options{Scale: b.Scale})
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	err = Send(t.Context(), read, b, o, &sent)
	if err == nil && sent.Load() != int64(rows) {
		t.Errorf("counted %d rows, want %d", sent.Load(), rows)
	}
	return read, err
}

func TestEveryRowArrivesThroughTrouble(t *testing.T) {
	s := startServer(t, func(n int64, w http.ResponseWriter) bool {
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler) // the connection breaks without an answer
		default:
			return false
		}
		return true
	})
	rows, err := send(t, s, 2500)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.ops) != 2500 || s.ops[`user '7\`] != rows.opID()+"=7.5" {
		t.Errorf("%d users, one is %q", len(s.ops), s.ops[`user '7\`])
	}
}

func TestRefusalStops(t *testing.T) {
	s := startServer(t, func(_ int64, w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"type":"x","title":"Unauthorized","detail":"a service key is needed"}`)
		return true
	})
	_, err := send(t, s, 10)
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized: a service key is needed; give a service key with --key") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Send: %v", err)
	}
}

func TestPatienceEnds(t *testing.T) {
	s := startServer(t, func(_ int64, w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	c, err := newClient(SendOptions{Server: s.url, Board: "npm"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.http.CloseIdleConnections()
	if err := c.persist(t.Context(), []byte("{}"), &outage{patience: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("persist: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.persist(ctx, []byte("{}"), &outage{patience: time.Hour}); err == nil {
		t.Error("persist goes on after its context ended")
	}
}

// Who looks on is told once what is waited for, and once that it is over.
func TestAnOutageIsTold(t *testing.T) {
	away := make(chan struct{})
	s := startServer(t, func(_ int64, w http.ResponseWriter) bool {
		select {
		case <-away:
			return false
		default:
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"title":"Writes cannot be made durable now"}`)
		return true
	})
	var said []string                                                     // Send says one line at a time
	rows, err := Read(strings.NewReader("a,1\nb,2\n"), Options{Scale: 1}) // one batch, so that nobody is late to notice
	if err != nil {
		t.Fatal(err)
	}
	err = Send(t.Context(), rows, Board{Scale: 1}, SendOptions{Server: s.url, Board: "npm", Patience: time.Minute, Say: func(line string) {
		if said = append(said, line); len(said) == 1 {
			close(away)
		}
	}}, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 2 || !strings.Contains(said[0], "each batch up to 1m0s: the server refuses: 503") || said[1] != "the server goes on" {
		t.Errorf("said %q", said)
	}
}

func TestWrongServer(t *testing.T) {
	for server, want := range map[string]string{
		"127.0.0.1:80":       "must be a URL",
		"ftp://a":            "must be a URL",
		"http://127.0.0.1:1": "no rankgate answers at http://127.0.0.1:1",
	} {
		if _, err := AskBoard(t.Context(), SendOptions{Server: server, Board: "npm"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("AskBoard(%s): %v, want %q", server, err, want)
		}
	}
}

func TestBar(t *testing.T) {
	if got, want := bar(500, 1000, time.Second), "["+strings.Repeat("#", 15)+strings.Repeat("-", 15)+"] 500/1000 rows  500 rows/s  1s left"; got != want {
		t.Errorf("bar = %s, want %s", got, want)
	}
	if got := bar(0, 0, 0); !strings.Contains(got, "0/0 rows") {
		t.Errorf("bar = %s", got)
	}
}
