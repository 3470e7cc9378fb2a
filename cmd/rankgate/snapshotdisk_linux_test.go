package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// A gateway whose disk is full answers as ever, fresh answers among them, and writes snapshots again when there is room.
func TestFullDiskForSnapshotsCostsNoAnswer(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	config := fmt.Sprintf("boards: { power: { update: add, shards: 4 } }\nlog: { url: %q, monitors: [%q] }\nstore: { url: %q }\nrole: ",
		nats.URL, nats.MonitorURL, redis.URL)
	startChild(t, config+"core")
	c := startChild(t, config+"gateway")
	const written, failed = "rankgate_degrade_snapshot_write_seconds_count", "rankgate_degrade_snapshot_write_failures_total"
	total := 0
	// until writes and reads, which are answered whatever becomes of snapshots, until a metric is larger than it was.
	until := func(name string) {
		t.Helper()
		was := metric(t, c.api, name)
		eventually(t, 60*time.Second, func() error {
			var answer struct{ Applied bool }
			body := fmt.Sprintf(`{"ops":[{"user":"u%d","add":1}]}`, total)
			if status, err := c.do(http.MethodPost, "/v1/boards/power/scores?wait=applied", body, &answer); err != nil || status != http.StatusOK || !answer.Applied {
				return fmt.Errorf("a write: %d, %+v, %w", status, answer, err)
			}
			total++
			var top page
			if c.get("/v1/boards/power/top", &top); top.Status == "fresh" && top.Total < total {
				t.Errorf("a top called fresh has %d of %d", top.Total, total)
			}
			if n := metric(t, c.api, name); n <= was {
				return fmt.Errorf("%s is still %v, and the top is %s", name, n, top.Status)
			}
			return nil
		})
	}
	until(written)
	room := c.FullDisk(64)
	until(failed)
	eventually(t, 10*time.Second, func() error {
		var top page
		if c.get("/v1/boards/power/top", &top); top.Status != "fresh" {
			return fmt.Errorf("with a full disk the top is %+v", top)
		}
		return nil
	})
	room()
	until(written)
}
