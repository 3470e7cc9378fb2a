//go:build unix

package degrade

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

func TestFullDiskIsToldOnceAndCostsNoAnswer(t *testing.T) {
	dir, core, registry := t.TempDir(), newHeads(), prometheus.NewRegistry()
	var log bytes.Buffer
	s := OpenSnapshots(SnapshotsConfig{
		Dir: dir, Boards: []*rankcore.Board{daily}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: registry,
	})
	g := NewGuard(Config{Source: core, Snapshots: s})
	take := func(first rankcore.UserID) {
		t.Helper()
		core.change()
		core.page.Entries = pageOf("", time.Time{}, first).Entries
		s.take(t.Context(), g, &turn{board: daily}, time.Now())
		page := s.top(rankcore.TopQuery{Board: daily, Season: "all", Limit: 1})
		if page == nil || page.Entries[0].User != first {
			t.Fatalf("answers %+v, want the newest", page)
		}
	}
	onDisk := func() rankcore.UserID {
		t.Helper()
		loaded, logged, _ := opened(t, dir, daily)
		if page := loaded.held(seasonKey{"daily", "all"}); page != nil && logged == "" {
			return page.Entries[0].User
		}
		t.Fatalf("nothing on the disk: %s", logged)
		return ""
	}
	take("before")
	room := servers.FullDisk(t, 100)
	for range 3 {
		take("while")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left on the full disk: %v, %v, want the one snapshot", entries, err)
	}
	if got := onDisk(); got != "before" {
		t.Errorf("on the disk is %q, want what was there before", got)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "snapshots cannot be written") {
		t.Errorf("logged %d lines, want one: %s", n, &log)
	}
	room()
	take("after")
	if got := onDisk(); got != "after" {
		t.Errorf("on the disk is %q, want the newest", got)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("logged %d lines, want one more: %s", n, &log)
	}
}
