package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// including reads path and asks that the write at position is in the answer.
func (a api) including(t *testing.T, path, position string, v any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("If-Position-Applied", position)
	resp, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", path, resp.StatusCode, err)
	}
}

// Who writes through one gateway and reads through another finds the write, or is told that it may be missing;
// and a listener there hears of it.
func TestReadYourWriteThroughAnotherGateway(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	yaml := fmt.Sprintf("boards: { power: { shards: 4 } }\nlog: { url: %q }\nstore: { url: %q }", nats.URL, redis.URL)
	west, east := startChild(t, yaml), startChild(t, yaml)
	scoreOf(west.api, "ann")
	ranked(east.api, "ann")
	var was struct{ Score int64 }
	east.get("/v1/boards/power/users/ann/rank", &was)

	const writes = 100
	var fresh int
	for i := was.Score + 1; i <= was.Score+writes; i++ {
		var written struct{ Position string }
		status, err := west.do(http.MethodPost, "/v1/boards/power/scores", `{"ops":[{"user":"ann","add":1}]}`, &written)
		if err != nil || status != http.StatusAccepted {
			t.Fatalf("write %d: %d, %v", i, status, err)
		}
		var rank struct {
			Status, Reason string
			Score          int64
		}
		east.including(t, "/v1/boards/power/users/ann/rank", written.Position, &rank)
		var top page
		east.including(t, "/v1/boards/power/top", written.Position, &top)
		if rank.Status == "fresh" && rank.Score != i || top.Status == "fresh" && (len(top.Entries) != 1 || top.Entries[0].Score != i) {
			t.Fatalf("after write %d: %+v, %+v", i, rank, top)
		}
		if rank.Status == "fresh" && top.Status == "fresh" {
			fresh++
		}
	}
	if t.Logf("%d of %d were fresh", fresh, writes); fresh == 0 {
		t.Error("nothing was ever fresh")
	}
	east.awaitEvent(t, fmt.Sprintf(`"score":%d}`, was.Score+writes))
}

// awaitEvent listens to the top until an event has text in its data.
func (a api) awaitEvent(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/v1/boards/power/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is && strings.Contains(data, text) {
			return
		}
	}
	t.Errorf("no event has %s", text)
}
