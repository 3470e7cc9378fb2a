package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestExportEqualsASort: what was imported comes out whole, in rank order, and what comes out can be imported.
func TestExportEqualsASort(t *testing.T) {
	users := packageNames(5000)
	users[`comma, "quote"`], users[" spaces "], users["日本\U0001F3C6"], users["=1+1"] = 5, 5, 5, 5
	c := startChild(t, "boards: { npm: { update: set }, copy: { update: set } }")
	f := sortFile(users)
	if code, _, stderr := command(t, "", "import", "npm", writeCounts(t, users), "--server", c.url); code != exitDone {
		t.Fatalf("import: exit %d\n%s", code, stderr)
	}
	f.awaitImported(t, c.api, "npm", 30*time.Second)

	code, written, stderr := command(t, "", "export", "npm", "--server", c.url)
	if code != exitDone {
		t.Fatalf("export: exit %d\n%s", code, stderr)
	}
	lines, err := csv.NewReader(strings.NewReader(written)).ReadAll()
	if err != nil || fmt.Sprint(lines[0]) != "[rank user score]" {
		t.Fatalf("%v, %v", lines[0], err)
	}
	f.compareExport(t, lines[1:])

	if code, _, stderr := command(t, written, "import", "copy", "-", "--server", c.url); code != exitDone {
		t.Fatalf("import of an export: exit %d\n%s", code, stderr)
	}
	f.awaitImported(t, c.api, "copy", 30*time.Second)
	code, written, stderr = command(t, "", "export", "copy", "--format", "ndjson", "--server", c.url)
	if code != exitDone {
		t.Fatalf("export: exit %d\n%s", code, stderr)
	}
	var rows [][]string
	for decoder := json.NewDecoder(strings.NewReader(written)); decoder.More(); {
		var row struct {
			Rank, Score json.Number
			User        string
		}
		if err := decoder.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, []string{row.Rank.String(), row.User, row.Score.String()})
	}
	f.compareExport(t, rows)
}

// compareExport holds exported rows against the file's.
func (f *sortedFile) compareExport(t *testing.T, rows [][]string) {
	t.Helper()
	if len(rows) != len(f.rows) {
		t.Fatalf("%d rows, want %d", len(rows), len(f.rows))
	}
	for i, want := range f.rows {
		if got := rows[i]; got[0] != strconv.Itoa(1+f.above(want.score)) || got[1] != want.user || got[2] != strconv.FormatInt(want.score, 10) {
			t.Fatalf("row %d is %q, want %+v of rank %d", i, got, want, 1+f.above(want.score))
		}
	}
}

func TestExportOfSeasonsAndDecimals(t *testing.T) {
	c := startChild(t, "boards: { laps: { order: asc, update: best, scale: 2, seasons: [day, week] } }")
	var answer struct{ Applied bool }
	if status, err := c.do(http.MethodPost, "/v1/boards/laps/scores?wait=applied", `{"ops":[{"user":"a","best":"61.50"},{"user":"b","best":"60.25"},{"user":"c","best":"61.50"}]}`, &answer); err != nil || !answer.Applied {
		t.Fatalf("%d, %v", status, err)
	}
	for _, season := range []string{"", "week"} {
		args := []string{"export", "laps", "--server", c.url}
		if season != "" {
			args = append(args, "--season", season)
		}
		if code, out, stderr := command(t, "", args...); code != exitDone || out != "rank,user,score\n1,b,60.25\n2,a,61.50\n2,c,61.50\n" {
			t.Errorf("season %q: exit %d, %s%s", season, code, out, stderr)
		}
	}
	for want, args := range map[string][]string{
		"404 There is no such board":  {"export", "nothing", "--server", c.url},
		"404 The board keeps no such": {"export", "laps", "--season", "all", "--server", c.url},
	} {
		if code, out, stderr := command(t, "", args...); code != exitFailed || out != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, %s", args, code, out, stderr)
		}
	}
	for _, args := range [][]string{{"export"}, {"export", "laps", "--format", "xml"}, {"export", "laps", "--server", "here"}, {"export", "LAPS"}} {
		if code, _, stderr := command(t, "", args...); code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
}
