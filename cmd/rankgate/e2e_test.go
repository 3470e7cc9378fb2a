package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"rankgate/cmd/rankgate/internal/config"
)

// startEdge runs serve in this process until the test ends, or until stop, which returns how it ended.
func startEdge(t *testing.T, cfg *config.Config) (a api, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var logged bytes.Buffer
	urls, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serve(ctx, cfg, streams{out: &bytes.Buffer{}, err: &logged}, func(url string) { urls <- url })
	}()
	over := false
	stop = func() error {
		if over {
			return nil
		}
		over = true
		cancel()
		err := <-ended
		if t.Failed() {
			t.Logf("its log:\n%s", &logged)
		}
		return err
	}
	t.Cleanup(func() {
		httpClient.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	select {
	case u := <-urls:
		a = api{t, u}
	case err := <-ended:
		t.Fatalf("serve: %v\n%s", err, &logged)
	}
	eventually(t, 20*time.Second, func() error {
		if status, err := a.do(http.MethodGet, "/readyz", "", nil); err != nil || status != http.StatusOK {
			return fmt.Errorf("readyz: %d, %w", status, err)
		}
		return nil
	})
	return a, stop
}

func embedded(t *testing.T, extra ...config.Flag) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Source{
		Environ: []string{
			"RANKGATE_BOARDS__POWER__UPDATE=add", "RANKGATE_BOARDS__LAPS__ORDER=asc", "RANKGATE_BOARDS__LAPS__UPDATE=best", "RANKGATE_BOARDS__LAPS__SCALE=2",
			"RANKGATE_BOARDS__FIRST__TIES=first", "RANKGATE_BOARDS__FIRST__ORDER=asc", "RANKGATE_BOARDS__FIRST__UPDATE=best",
		},
		Flags: append([]config.Flag{{Name: "--listen", Key: "listen", Value: "127.0.0.1:0"}, {Name: "--data", Key: "data", Value: t.TempDir()}}, extra...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestBoardEndToEnd(t *testing.T) {
	noLeaks(t)
	cfg := embedded(t)
	a, stop := startEdge(t, cfg)
	post := func(board, ops string) {
		t.Helper()
		var answer struct {
			Accepted int
			Applied  bool
		}
		status, err := a.do(http.MethodPost, "/v1/boards/"+board+"/scores?wait=applied", ops, &answer)
		if err != nil || status != http.StatusOK || !answer.Applied {
			t.Fatalf("post to %s: %d, %+v, %v", board, status, answer, err)
		}
	}
	post("power", `{"ops":[{"id":"1","user":"alice","add":120},{"id":"2","user":"bob","add":120},{"id":"3","user":"@z/o e~.","add":7}]}`)
	post("power", `{"ops":[{"id":"1","user":"alice","add":120}]}`) // again: counts once
	post("laps", `{"ops":[{"user":"alice","best":"61.50"},{"user":"bob","best":60.25},{"user":"alice","best":"62"}]}`)

	check := func(a api) {
		t.Helper()
		eventually(t, 20*time.Second, func() error { // stale until the applier is heard, and right all the time
			var top page
			a.get("/v1/boards/power/top", &top)
			if got := fmt.Sprint(top.Entries); top.Total != 3 || got != "[{1 alice 120} {1 bob 120} {3 @z/o e~. 7}]" {
				t.Fatalf("top = %+v", top)
			}
			if top.Status != "fresh" {
				return fmt.Errorf("top is %s, because of %s", top.Status, top.Reason)
			}
			return nil
		})
		var rank struct {
			Rank, Tied int
			Score      int64
			Precision  string
		}
		a.get("/v1/boards/power/users/"+url.PathEscape("@z/o e~.")+"/rank?precision=exact", &rank)
		if rank.Rank != 3 || rank.Tied != 1 || rank.Score != 7 || rank.Precision != "exact" {
			t.Errorf("rank = %+v", rank)
		}
		var laps struct {
			Entries []struct{ User, Score string }
		}
		a.get("/v1/boards/laps/top", &laps)
		if got := fmt.Sprint(laps.Entries); got != "[{bob 60.25} {alice 61.50}]" {
			t.Errorf("laps = %s", got)
		}
	}
	check(a)
	if status, _ := a.do(http.MethodGet, "/metrics", "", nil); status != http.StatusOK {
		t.Errorf("metrics on loopback: %d", status)
	}
	if err := stop(); err != nil {
		t.Fatalf("serve: %v", err)
	}
	a, _ = startEdge(t, cfg) // on the same data
	check(a)
}

func TestOperationsHaveTheirOwnListener(t *testing.T) {
	noLeaks(t)
	cfg := embedded(t)
	cfg.OpsListen = "127.0.0.1:0"
	at, err := listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.OpsListen = at.ops.Addr().String() // free a moment ago
	at.close()
	a, _ := startEdge(t, cfg)
	if status, _ := a.do(http.MethodGet, "/metrics", "", nil); status != http.StatusNotFound {
		t.Errorf("metrics on the public listener: %d, want 404", status)
	}
	other := api{t, "http://" + cfg.OpsListen}
	for path, want := range map[string]int{"/metrics": 200, "/debug/pprof/": 200, "/livez": 200, "/readyz": 200, "/v1/boards": 404} {
		if status, _ := other.do(http.MethodGet, path, "", nil); status != want {
			t.Errorf("%s on the operations listener: %d, want %d", path, status, want)
		}
	}
}

func TestDemoPlaysAndLeavesNothing(t *testing.T) {
	noLeaks(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{got: make(chan string, 16)}
	ended := make(chan error, 1)
	go func() { ended <- demo(ctx, "127.0.0.1:0", streams{out: out, err: &bytes.Buffer{}}) }()
	var line string
	for !strings.Contains(line, "Open http") {
		select {
		case line = <-out.got:
		case err := <-ended:
			t.Fatalf("demo: %v", err)
		}
	}
	_, rest, _ := strings.Cut(line, "Open ")
	at, _, _ := strings.Cut(rest, "/ ")
	a := api{t, at}
	eventually(t, 30*time.Second, func() error {
		var top page
		if a.get("/v1/boards/demo/top?limit=3", &top); top.Total < 3000 || len(top.Entries) != 3 {
			return fmt.Errorf("top = %+v", top)
		}
		return nil
	})
	httpClient.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("demo: %v", err)
	}
	if left := dirEntries(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A terminal that is closed takes away whoever read the output, and then hangs up.
func TestDemoLeavesNothingWhenTheTerminalGoes(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	child := exec.CommandContext(t.Context(), path, "demo", "--listen", "127.0.0.1:0")
	child.Env = append(os.Environ(), "TMPDIR="+temp)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(out, 16).ReadByte(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := child.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("demo: %v, want exit code 0", err)
	}
	if left := dirEntries(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// lines hands on each write.
type lines struct{ got chan string }

func (l *lines) Write(p []byte) (int, error) {
	select {
	case l.got <- string(p):
		return len(p), nil
	default:
		return 0, errors.New("nobody reads")
	}
}

func dirEntries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
