package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// A gateway that starts while Redis is down answers from the snapshot on its disk, and is fresh soon after Redis is
// back.
func TestStartInAnOutageAnswersTheSnapshot(t *testing.T) {
	redis := servers.Redis(t)
	c := startChild(t, fmt.Sprintf("boards: { power: { update: add } }\nstore: { url: %q }", redis.URL))
	ops := `{"ops":[{"user":"alice","add":120},{"user":"bob","add":120},{"user":"cy","add":7}]}`
	eventually(t, 10*time.Second, func() error {
		var answer struct{ Applied bool }
		status, err := c.do(http.MethodPost, "/v1/boards/power/scores?wait=applied", ops, &answer)
		if err != nil || status != http.StatusOK || !answer.Applied {
			return fmt.Errorf("post: %d, %+v, %w", status, answer, err)
		}
		return nil
	})
	// Of two snapshots written from here on, the second began after the scores above were applied. They are written
	// when something changed.
	const metricName = "rankgate_degrade_snapshot_write_seconds_count"
	written := metric(t, c.api, metricName)
	eventually(t, 30*time.Second, func() error {
		c.do(http.MethodPost, "/v1/boards/power/scores", `{"ops":[{"user":"eve","add":-1}]}`, nil)
		if n := metric(t, c.api, metricName); n < written+2 {
			return fmt.Errorf("%v snapshots are written, want two more than %v", n, written)
		}
		return nil
	})
	redis.Kill()
	c.Kill()
	c.Restart()

	check := func(status, reason string) error {
		var top page
		c.get("/v1/boards/power/top", &top)
		if top.Status != status || top.Reason != reason || top.Total != 4 || fmt.Sprint(top.Entries[:3]) != "[{1 alice 120} {1 bob 120} {3 cy 7}]" {
			return fmt.Errorf("top = %+v, want %s %s", top, status, reason)
		}
		return nil
	}
	eventually(t, 2*time.Second, func() error { return check("stale", "snapshot") })
	var rank struct {
		Rank              int
		Status, Precision string
	}
	if c.get("/v1/boards/power/users/cy/rank", &rank); rank.Rank != 3 || rank.Status != "stale" || rank.Precision != "exact" {
		t.Errorf("cy: %+v", rank)
	}
	var unknown struct {
		Rank   *int
		Status string
	}
	if c.get("/v1/boards/power/users/dan/rank", &unknown); unknown.Rank != nil || unknown.Status != "updating" {
		t.Errorf("dan, who may be ranked since: %+v", unknown)
	}
	if status, err := c.do(http.MethodGet, "/readyz", "", nil); status != http.StatusOK {
		t.Errorf("/readyz with a snapshot: %d, %v", status, err)
	}
	c.Kill()
	spoil(t, filepath.Join(c.Dir(), "data", "snapshots"))
	c.Restart()
	eventually(t, 10*time.Second, func() error {
		var top page
		if status, err := c.do(http.MethodGet, "/v1/boards/power/top", "", &top); err != nil || status != http.StatusOK || top.Status != "updating" || len(top.Entries) > 0 {
			return fmt.Errorf("with spoilt snapshots: %d, %+v, %w", status, top, err)
		}
		return nil
	})
	redis.Restart()
	eventually(t, 10*time.Second, func() error { return check("fresh", "") })
}

// spoil changes a byte in the middle of every file.
func spoil(t *testing.T, dir string) {
	t.Helper()
	spoilt := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 0xff
		spoilt++
		return os.WriteFile(path, data, 0o600)
	})
	if err != nil || spoilt == 0 {
		t.Fatalf("%d snapshots were spoilt: %v", spoilt, err)
	}
}
