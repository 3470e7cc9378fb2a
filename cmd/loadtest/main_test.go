package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rankgate/loadtest"
)

// call runs the program and returns its exit code and what it wrote.
func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

func TestWrongUseIsExit2AndOneLine(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run --reads x", "reads"},
		{"run extra --reads 1", "extra"},
		{"run", "give at least one positive rate"},
		{"run --reads 1 --board Power", "board name"},
		{"run --reads 1 --op remove", "add, set, best"},
		{"run --reads 1 --url http://192.0.2.1", "loopback"},
		{"chaos", "binary"},
		{"chaos --binary x --scenario kill,flood", "flood"},
		{"fly", "fly"},
	} {
		code, out, errs := call(t, strings.Fields(c.args)...)
		if code != 2 || out != "" || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "loadtest: ") {
			t.Errorf("%s: exit %d, %q, %q, want exit 2 and a word of %q", c.args, code, out, errs, c.want)
		}
	}
}

func TestRunReports(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPost && r.URL.RawQuery == "wait=applied":
			fmt.Fprint(w, `{"accepted":1,"position":"1-1","applied":true}`)
		default:
			fmt.Fprint(w, `{"status":"stale"}`)
		}
	}))
	t.Cleanup(server.Close)
	args := []string{
		"run", "--url", server.URL, "--reads", "50", "--writes", "20", "--batch", "2", "--for", "200ms",
		"--key", "secret", "--wait-applied", "--json",
	}
	code, out, errs := call(t, args...)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var report loadtest.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{2, 8, 2} {
		if k := report.Kinds[i]; k.HTTP["200"] != want {
			t.Errorf("%s: %v, want %d times 200", k.Kind, k.HTTP, want)
		}
	}
	if got := report.Kinds[0].Statuses["stale"]; got != 2 {
		t.Errorf("%d stale, want 2", got)
	}
	server.Close()
	if code, out, errs = call(t, args[:len(args)-1]...); code != 1 || !strings.Contains(out, "connection refused") {
		t.Errorf("nobody there: exit %d, %s, %s, want exit 1 and the reason", code, out, errs)
	}
}

func TestChaosNeedsABinaryThatStarts(t *testing.T) {
	code, out, errs := call(t, "chaos", "--binary", "/nonexistent/rankgate")
	if code != 1 || out != "" || !strings.Contains(errs, "no such file") {
		t.Errorf("exit %d, %q, %q, want exit 1 and the reason", code, out, errs)
	}
}
