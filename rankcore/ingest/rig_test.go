package ingest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// rig is a log server on a fixed port whose files can be copied and put back.
type rig struct {
	t      *testing.T
	dir    string
	listen string
	server *Server
	logger *slog.Logger
}

func newRig(t *testing.T) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "log"), listen: l.Addr().String(), logger: testLogger(t)}
	l.Close()
	r.start()
	t.Cleanup(r.stop)
	return r
}

// testLogger shows what was logged when the test failed.
func testLogger(t *testing.T) *slog.Logger {
	t.Helper()
	var mu sync.Mutex
	var text []byte
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Logf("log:\n%s", text)
		}
	})
	return slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		text = append(text, b...)
		return len(b), nil
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

var _ io.Writer = writerFunc(nil)

func (r *rig) start() {
	r.t.Helper()
	s, err := StartServer(EmbeddedConfig{Dir: r.dir, Listen: r.listen})
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = s
}

func (r *rig) stop() {
	if r.server != nil {
		r.server.Shutdown()
		r.server = nil
	}
}

// copyOf stops the server, copies its files and starts it again.
func (r *rig) copyOf() string {
	r.t.Helper()
	to := filepath.Join(r.t.TempDir(), "copy")
	r.stop()
	if err := os.CopyFS(to, os.DirFS(r.dir)); err != nil {
		r.t.Fatal(err)
	}
	r.start()
	return to
}

// putBack stops the server and replaces its files: it runs on with the older log. meanwhile happens before.
func (r *rig) putBack(from string) {
	r.t.Helper()
	r.stop()
	if err := os.RemoveAll(r.dir); err != nil {
		r.t.Fatal(err)
	}
	if from != "" {
		if err := os.CopyFS(r.dir, os.DirFS(from)); err != nil {
			r.t.Fatal(err)
		}
	}
	r.start()
}

func (r *rig) dial() *nats.Conn {
	r.t.Helper()
	conn, err := Dial("nats://"+r.listen, nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(time.Millisecond, time.Millisecond))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(conn.Close)
	return conn
}

// raw is a stream handle of a client that is not the log.
func (r *rig) raw() stream {
	r.t.Helper()
	conn := r.dial()
	js, err := jetstream.New(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	return stream{conn: conn, js: js}
}

// runLog opens a log and runs it until the test ends or stop is called.
func (r *rig) runLog(change func(*LogConfig), boards ...*rankcore.Board) (l *Log, stop func()) {
	r.t.Helper()
	cfg := LogConfig{Conn: r.dial(), Boards: boards, Logger: r.logger, Durability: FSync, MaxBytes: 1 << 30}
	if change != nil {
		change(&cfg)
	}
	l, err := OpenLog(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return l, running(r.t, l.Run)
}

// runApplier runs an applier until the test ends or stop is called.
func (r *rig) runApplier(l *Log, b *rankcore.Board, store Shards) (a *Applier, stop func()) {
	r.t.Helper()
	a = NewApplier(ApplierConfig{Log: l, Board: b, Shards: store, Announcer: &heard{}, Logger: r.logger})
	return a, running(r.t, a.Run)
}

func running(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// heard keeps what was announced.
type heard struct {
	mu       sync.Mutex
	changes  []rankcore.Change
	progress rankcore.Progress
}

func (h *heard) Announce(c rankcore.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
}

func (h *heard) Progress(p rankcore.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = p
}

func (h *heard) Withdraw(rankcore.BoardID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = rankcore.Progress{}
}

// eventually waits until ok answers nothing; what it answers last is the failure.
func eventually(t *testing.T, ok func() string) {
	t.Helper()
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		wrong := ok()
		if wrong == "" {
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("not within %v: %s", patience, wrong)
		}
	}
}

func testBoard(id string, shards int) *rankcore.Board {
	return &rankcore.Board{
		ID: rankcore.BoardID(id), Update: rankcore.UpdateAdd, Shards: shards, Seasons: []rankcore.SeasonKind{rankcore.All},
		Location: time.UTC, Head: 1000, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
}

func add(id, user string, value int64) rankcore.Op {
	return rankcore.Op{ID: id, User: rankcore.UserID(user), Kind: rankcore.OpAdd, Value: rankcore.Score(value)}
}

// mustAppend appends until the log takes it, as a careful caller does: the ids stay the same.
func mustAppend(t *testing.T, l *Log, b *rankcore.Board, ops ...rankcore.Op) WritePosition {
	t.Helper()
	var at WritePosition
	eventually(t, func() string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var err error
		if at, err = l.Append(ctx, b, ops); err != nil {
			return err.Error()
		}
		return ""
	})
	return at
}

// publish stores a message as a foreign client does.
func publish(t *testing.T, s stream, b *rankcore.Board, payload string) rankcore.Position {
	t.Helper()
	var p rankcore.Position
	eventually(t, func() string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ack, err := s.js.Publish(ctx, subjectOf(b.ID), []byte(payload))
		if err != nil {
			return err.Error()
		}
		m, err := s.messageAt(ctx, ack.Sequence)
		if err != nil {
			return err.Error()
		}
		p = m.Position
		return ""
	})
	return p
}

// settled waits until the applier has everything and every shard follows.
func settled(t *testing.T, a *Applier, s stream) {
	t.Helper()
	eventually(t, func() string {
		newest, err := s.newest(t.Context(), a.board.ID)
		if err != nil {
			return err.Error()
		}
		st := a.Status()
		if st.Cursor != newest.Position || st.Shards[following.String()] != a.board.Shards {
			return fmt.Sprintf("applier at %v with %v, log at %v", st.Cursor, st.Shards, newest.Position)
		}
		return ""
	})
}
