package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// importBoard asks for no quota: the comparison asks for any number of exact ranks.
const importBoard = "boards: { npm: { update: set } }\nquota: { exact_per_day: -1 }"

// packageNames are generated rows like those of a package registry: odd names, few distinct scores, one far ahead.
func packageNames(n int) map[string]int64 {
	random := rand.New(rand.NewPCG(7, 7))
	users := make(map[string]int64, n)
	for i := range n {
		name := fmt.Sprintf("pkg-%d", i)
		switch i % 5 {
		case 1:
			name = fmt.Sprintf("@scope-%d/na~me.%d", i%17, i)
		case 2:
			name = strings.Repeat("long-", 40) + fmt.Sprint(i)
		}
		users[name] = int64(math.Pow(10, 8*math.Pow(random.Float64(), 3)))
	}
	users["semver"] = 2_399_072_936
	return users
}

// writeCounts writes users as one JSON object.
func writeCounts(t *testing.T, users map[string]int64) string {
	t.Helper()
	text, err := json.Marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "counts.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// importInto imports the file twice, as people do who were not sure of the first time, and compares.
func importInto(t *testing.T, c *child, file string, users map[string]int64) {
	t.Helper()
	f := sortFile(users)
	for range 2 {
		code, stdout, stderr := command(t, "", "import", "npm", file, "--server", c.url)
		if code != exitDone || !strings.HasPrefix(stdout, fmt.Sprintf("%d rows in ", len(users))) {
			t.Fatalf("import: exit %d\n%s%s", code, stdout, stderr)
		}
	}
	f.awaitImported(t, c.api, "npm", 30*time.Second)
	f.compareTop(t, c.api, "npm", 100)
	f.compareRanks(t, c.api, "npm", 500)
}

func TestImportEmbeddedEqualsASort(t *testing.T) {
	users := packageNames(5000)
	importInto(t, startChild(t, importBoard), writeCounts(t, users), users)
}

func TestImportOnServersEqualsASort(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	c := startChild(t, fmt.Sprintf("%s\nlog: { url: %q }\nstore: { url: %q }", importBoard, nats.URL, redis.URL))
	users := packageNames(5000)
	importInto(t, c, writeCounts(t, users), users)
}

func TestBadRowSendsNothing(t *testing.T) {
	c := startChild(t, importBoard)
	rows := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(rows, []byte("user,score\na,1\nb,2.5\na,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(t, "", "import", "npm", rows, "--server", c.url)
	if code != exitFailed || !strings.Contains(stderr, "rows.csv: line 3: score: not an integer") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	var top page
	if c.get("/v1/boards/npm/top", &top); top.Total != 0 {
		t.Errorf("%d members after a refused file", top.Total)
	}
	code, stdout, stderr := command(t, "", "import", "npm", rows, "--server", c.url, "--skip-bad")
	if code != exitDone || !strings.HasPrefix(stdout, "1 rows in ") || !strings.Contains(stderr, "2 bad rows left out, the first: line 3") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = command(t, "", "import", "other", rows, "--server", c.url)
	if code != exitFailed || !strings.Contains(stderr, "404") {
		t.Errorf("an unknown board: exit %d, %s", code, stderr)
	}
}
