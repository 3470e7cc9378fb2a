//go:build npm

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// These tests import the real file that `make import-npm` fetches: 3,771,841 package names with their downloads.

func npmCounts(t *testing.T) (file string, users map[string]int64) {
	t.Helper()
	file = os.Getenv("NPM_COUNTS")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("NPM_COUNTS: %v; run `make import-npm`", err)
	}
	if err := json.Unmarshal(text, &users); err != nil {
		t.Fatal(err)
	}
	return file, users
}

// importNPM imports the file, compares 10,000 ranks and says what it took. used is the store's memory now, in bytes.
func importNPM(t *testing.T, c *child, used func() float64) {
	t.Helper()
	file, users := npmCounts(t)
	f := sortFile(users)
	before := used()
	start := time.Now()
	code, stdout, stderr := command(t, "", "import", "npm", file, "--server", c.url)
	if code != exitDone {
		t.Fatalf("import: exit %d\n%s%s", code, stdout, stderr)
	}
	f.awaitImported(t, c.api, "npm", 5*time.Minute)
	applied := time.Since(start).Seconds()
	t.Logf("import: %s", strings.TrimSpace(stdout))
	t.Logf("applied: %.2f s, %.0f rows/s", applied, float64(len(users))/applied)
	t.Logf("memory: %.0f bytes per member, operation ids included", (used()-before)/float64(len(users)))
	f.compareTop(t, c.api, "npm", 100)
	f.compareRanks(t, c.api, "npm", 10_000)
}

func TestImportOfNPMEmbedded(t *testing.T) {
	c := startChild(t, importBoard)
	importNPM(t, c, func() float64 { return metric(t, c.api, "process_resident_memory_bytes") })
	t.Logf("heap: %.0f MB in use", metric(t, c.api, "go_memstats_heap_inuse_bytes")/1e6)
}

func TestImportOfNPMOnServers(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	c := startChild(t, fmt.Sprintf("%s\nlog: { url: %q }\nstore: { url: %q }", importBoard, nats.URL, redis.URL))
	importNPM(t, c, func() float64 {
		for line := range strings.Lines(redis.Do("INFO", "memory").(string)) {
			if text, ok := strings.CutPrefix(line, "used_memory:"); ok {
				return number(t, text)
			}
		}
		t.Fatal("Redis does not tell its memory")
		return 0
	})
}
