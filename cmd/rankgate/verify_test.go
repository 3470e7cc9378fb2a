package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// verifies runs rankgate verify on board power of a server and checks how it ends, and that its table says so.
func verifies(t *testing.T, url string, code int, says []string, args ...string) {
	t.Helper()
	got, stdout, stderr := command(t, "", append([]string{"verify", "power", "--server", url}, args...)...)
	if got != code || strings.Count(stderr, "\n") != code {
		t.Errorf("verify %v: exit %d, want %d\n%s%s", args, got, code, stdout, stderr)
	}
	for _, want := range says {
		if !strings.Contains(strings.Join(strings.Fields(stdout+stderr), " "), want) {
			t.Errorf("verify %v does not say %q:\n%s%s", args, want, stdout, stderr)
		}
	}
}

func fillPower(t *testing.T, a api) {
	t.Helper()
	status, err := a.do(http.MethodPost, "/v1/boards/power/scores?wait=applied", `{"ops":[{"user":"a","add":7},{"user":"b","add":7},{"user":"c","add":9}]}`, nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("filling the board: %d, %v", status, err)
	}
}

func TestVerifyEmbedded(t *testing.T) {
	noLeaks(t)
	a, _ := startEdge(t, embedded(t))
	fillPower(t, a)
	verifies(t, a.url, exitDone, []string{"board power: 16 shards, 3 scores, 0 findings"})
	verifies(t, a.url, exitDone, []string{"0 findings"}, "--repair")
	code, _, stderr := command(t, "", "verify", "nothing", "--server", a.url)
	if code != exitFailed || !strings.Contains(stderr, "There is no such board") {
		t.Errorf("an unknown board: exit %d, %s", code, stderr)
	}
}

// TestVerifyOnServers: a wrong count of a shard, and then of the index, is found, then found and repaired, then gone.
func TestVerifyOnServers(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	c := startChild(t, fmt.Sprintf("boards: { power: { shards: 1 } }\nlog: { url: %q }\nstore: { url: %q }", nats.URL, redis.URL))
	fillPower(t, c.api)
	clean := []string{"board power: 1 shards, 3 scores, 0 findings, 0 repaired"}
	verifies(t, c.url, exitDone, clean)
	const segments = "rank:{power:0}:all:segment"
	redis.Do("HINCRBY", segments, "7", "3")
	redis.Do("HDEL", segments, "9")
	row := "0 segments all 5 3 found 2 segments, the first with scores 9 to 9"
	verifies(t, c.url, exitFailed, []string{row, "1 findings of drift, 0 of them repaired"})
	verifies(t, c.url, exitFailed, []string{strings.Replace(row, "found", "repaired", 1), "1 findings of drift, all repaired"}, "--repair")
	verifies(t, c.url, exitDone, clean)
	if got := fmt.Sprintf("%v %v", redis.Do("HGET", segments, "7"), redis.Do("HGET", segments, "9")); got != "2 1" {
		t.Errorf("after the repair the segments count %s, want 2 1", got)
	}

	indexed := func() {
		t.Helper()
		eventually(t, time.Minute, func() error {
			if metric(t, c.api, `rankgate_count_index_ready{board="power"}`) != 1 {
				return errors.New("the count index is not ready")
			}
			return nil
		})
	}
	indexed()
	redis.Do("EVAL", `redis.call("ZADD", KEYS[1], "XX", -8, "a")
		redis.call("HSET", KEYS[2], 7, 1, 8, 1)`, "2", "rank:{power:0}:all:main", segments) // the shard is right, the index is not
	row = "all index all 2 2 found segments of the count index: 2, the first with scores 8 to 8"
	verifies(t, c.url, exitFailed, []string{row, "1 findings of drift, 0 of them repaired"})
	verifies(t, c.url, exitFailed, []string{strings.Replace(row, "found", "repaired", 1), "all repaired"}, "--repair")
	indexed()
	verifies(t, c.url, exitDone, clean)
}
