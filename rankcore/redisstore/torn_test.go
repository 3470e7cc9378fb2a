package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// TestTornLogFile: what a Redis was writing when it was killed must not come back later, when the step was taken anew and
// changed something else.
func TestTornLogFile(t *testing.T) {
	server := servers.Redis(t, servers.With("appendonly", "yes"), servers.With("appendfsync", "always"), servers.With("repl-diskless-sync-delay", "0"))
	b := board("torn")
	b.Shards = 1
	w := newWriter(t, open(t, server.URL), b)
	w.write(set("abe", 5), set("cy", 1))
	before := w.at
	w.write(set("abe", 500))
	server.Kill()
	tear(t, server.Dir())
	server.Restart()
	w.at = before
	if r := w.store.Positions(t.Context(), b)[0]; r.State != rankcore.StepAt || r.At != before {
		t.Fatalf("after the first start: %+v, want at %v", r, before)
	}
	if err := w.store.Check(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.write(set("abe", 500), set("abe", 5), set("cy", 2)) // a longer step, which ends where it began
	if err := eventually(t, func(context.Context) error {
		if err := server.Says("PERSISTENCE", "aof_last_rewrite_time_sec:-1"); err == nil {
			return fmt.Errorf("the file is as it was")
		}
		return server.Says("PERSISTENCE", "aof_rewrite_in_progress:0")
	}); err != nil {
		t.Error(err)
	}
	server.Kill()
	server.Restart()
	if got, want := w.top(9), "1 abe 5, 2 cy 2"; got != want {
		t.Errorf("after the second start: %s, want %s", got, want)
	}
	if r := w.store.Positions(t.Context(), b)[0]; r.State != rankcore.StepAt || r.At != w.at {
		t.Errorf("%+v, want at %v", r, w.at)
	}
}

// tear cuts the end off Redis' log file, in the middle of a command.
func tear(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	const last = "HSET\r\n$" // of the step, which tells the shard's new position
	if err := os.WriteFile(files[0], text[:strings.LastIndex(string(text), last)+len(last)], 0o600); err != nil {
		t.Fatal(err)
	}
}
