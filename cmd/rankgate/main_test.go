package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rankgate/loadtest/servers"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(bareEnv); name != "" {
		panic(serveBare(name)) // until it is killed
	}
	dir, err := os.MkdirTemp("", "rankgate-test-*")
	if err != nil {
		panic(err)
	}
	binaryDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// noLeaks fails the test when it leaves goroutines behind. Two of fasthttp's outlive every server: one for
// the process, and one that ends within its sleep of 10 s.
func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before,
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
	})
}

var (
	binaryDir string
	binary    = sync.OnceValues(func() (string, error) {
		path := filepath.Join(binaryDir, "rankgate")
		out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
)

// child is the real binary, serving.
type child struct {
	*servers.Process
	api
}

// startChild serves the configuration in a process of its own.
func startChild(t testing.TB, yaml string) *child {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "rankgate.yaml")
	addr := fmt.Sprintf("127.0.0.1:%d", servers.FreePorts(t, 1)[0])
	yaml += fmt.Sprintf("\nlisten: %s\ndata: %s\n", addr, filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &child{api: api{t, "http://" + addr}}
	c.Process = servers.Start(t, servers.Command{
		Name: "rankgate", Path: path, Args: []string{"serve", "--config", file}, Dir: dir,
		Ready: func() error { return alive(context.Background(), addr) },
	})
	return c
}

// api asks a server as any client would.
type api struct {
	t   testing.TB
	url string
}

var httpClient = &http.Client{
	Timeout:   10 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64},
}

// do sends a request and decodes the JSON answer into v, which may be nil.
func (a api) do(method, path, body string, v any) (status int, err error) {
	req, err := http.NewRequestWithContext(context.Background(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && v != nil {
		err = json.Unmarshal(text, v)
	}
	return resp.StatusCode, err
}

// get fails the test when the answer is not a 200 with JSON.
func (a api) get(path string, v any) {
	a.t.Helper()
	if status, err := a.do(http.MethodGet, path, "", v); err != nil || status != http.StatusOK {
		a.t.Fatalf("GET %s: %d, %v", path, status, err)
	}
}

// page is a top answer.
type page struct {
	Status  string
	Reason  string
	Total   int
	Entries []struct {
		Rank  int
		User  string
		Score int64
	}
}

// eventually polls until what holds, which says what is missing; it fails the test when that takes too long.
func eventually(t testing.TB, within time.Duration, holds func() error) {
	t.Helper()
	late := time.After(within)
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-late:
			t.Fatalf("not within %v: %v", within, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// command runs a command in this process.
func command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(stdin), out: &out, err: &err})
	return code, out.String(), err.String()
}
