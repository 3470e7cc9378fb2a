package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"rankgate/loadtest/servers"
)

// The load of BenchmarkWrites, as one busy game server sends it.
const (
	benchCallers = 32
	benchBatch   = 100
	benchUsers   = 100_000
)

// BenchmarkWrites measures from HTTP to applied, with an id on every operation, a log that syncs and the real
// binary in a process of its own. The processor time of each part says more than the rate: this process, which
// sends, shares the machine with them.
func BenchmarkWrites(b *testing.B) {
	b.Run("redis", func(b *testing.B) {
		redis := servers.Redis(b)
		c := startChild(b, fmt.Sprintf("boards: { power: { update: add, shards: 256 } }\nstore: { url: %q }", redis.URL))
		before := cpuOf(b, redis.Process)
		writes(b, c)
		b.ReportMetric((cpuOf(b, redis.Process)-before)/float64(b.N)*1e6, "redis-us/op")
		text, _ := redis.Do("INFO", "commandstats").(string)
		if m := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(text); m != nil {
			calls, _ := strconv.ParseFloat(m[1], 64)
			b.ReportMetric(calls/float64(b.N), "scripts/op")
		}
	})
	b.Run("embedded", func(b *testing.B) { writes(b, startChild(b, killBoard)) })
}

// writes sends b.N operations and waits until the last of them is applied.
func writes(b *testing.B, c *child) {
	if status, err := c.do(http.MethodPost, "/v1/boards/power/scores?wait=applied", `{"ops":[{"id":"first","user":"user-0","add":1}]}`, nil); err != nil || status != http.StatusOK {
		b.Fatalf("the first operation got %d, %v", status, err)
	}
	bodies := make(chan string, benchCallers)
	before := cpuOf(b, c.Process)
	b.ResetTimer()
	var callers sync.WaitGroup
	for range benchCallers {
		callers.Go(func() {
			for body := range bodies {
				if status, err := c.do(http.MethodPost, "/v1/boards/power/scores", body, nil); err != nil || status != http.StatusAccepted {
					b.Errorf("a batch got %d, %v", status, err)
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	for ; n < b.N; n += benchBatch {
		var body strings.Builder
		for i := range benchBatch {
			fmt.Fprintf(&body, `,{"id":"evt-%d","user":"user-%d","add":%d}`, n+i, random.IntN(benchUsers), 1+random.IntN(1000))
		}
		bodies <- `{"ops":[` + body.String()[1:] + `]}`
	}
	close(bodies)
	callers.Wait()
	eventually(b, tryFor, func() error { return c.applied(n + 1) })
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric((cpuOf(b, c.Process)-before)/float64(b.N)*1e6, "rankgate-us/op")
}

// applied says whether that many operations were taken in since the start.
func (c *child) applied(n int) error {
	answer, err := httpClient.Get(c.url + "/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	got := 0.0
	for _, m := range regexp.MustCompile(`(?m)^rankgate_ingest_applied_ops_total\{.*\} (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		more, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return err
		}
		got += more
	}
	if got < float64(n) {
		return fmt.Errorf("%.0f operations are applied, waiting for %d", got, n)
	}
	return nil
}

// cpuOf is the processor time that a process has used, in seconds.
func cpuOf(tb testing.TB, p *servers.Process) float64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		tb.Skip("this system does not tell what a process used: ", err)
	}
	const ticks = 100 // a second, on every Linux
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	if err := errors.Join(err1, err2); err != nil {
		tb.Fatal(err)
	}
	return (user + system) / ticks
}
