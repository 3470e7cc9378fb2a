package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sortedFile is what a file's rows say about ranks, by a plain sort.
type sortedFile struct {
	rows   []sortedRow // best first, ties by user
	scores []int64     // of rows
}

type sortedRow struct {
	user  string
	score int64
}

func sortFile(users map[string]int64) *sortedFile {
	f := &sortedFile{}
	for user, score := range users {
		f.rows = append(f.rows, sortedRow{user, score})
	}
	slices.SortFunc(f.rows, func(a, b sortedRow) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.user, b.user))
	})
	for _, r := range f.rows {
		f.scores = append(f.scores, r.score)
	}
	return f
}

// above is how many rows stand strictly above a score.
func (f *sortedFile) above(score int64) int {
	n, _ := slices.BinarySearchFunc(f.scores, score, func(s, want int64) int { return cmp.Compare(want, s) })
	return n
}

// awaitImported waits until the board shows as many members as the file has rows, freshly.
func (f *sortedFile) awaitImported(t *testing.T, a api, board string, within time.Duration) {
	t.Helper()
	eventually(t, within, func() error {
		var top page
		a.get("/v1/boards/"+board+"/top?limit=1", &top)
		if top.Status != "fresh" || top.Total != len(f.rows) {
			return fmt.Errorf("%s with %d of %d members", top.Status, top.Total, len(f.rows))
		}
		return nil
	})
}

// compareTop holds the first rows of the board against the file.
func (f *sortedFile) compareTop(t *testing.T, a api, board string, n int) {
	t.Helper()
	var top page
	a.get(fmt.Sprintf("/v1/boards/%s/top?limit=%d", board, n), &top)
	if len(top.Entries) != n {
		t.Fatalf("top has %d rows, want %d", len(top.Entries), n)
	}
	for i, e := range top.Entries {
		if want := f.rows[i]; e.User != want.user || e.Score != want.score || e.Rank != 1+f.above(want.score) {
			t.Errorf("row %d is %+v, want %+v", i, e, want)
		}
	}
}

const (
	askers    = 4                // at one time
	answerFor = 30 * time.Second // a busy core may say "updating" meanwhile; it must never say a wrong rank
)

// compareRanks asks for n users, spread over all ranks, exactly and by estimate.
func (f *sortedFile) compareRanks(t *testing.T, a api, board string, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	sample := make(chan sortedRow)
	var wait sync.WaitGroup
	var later atomic.Int64
	for range askers {
		wait.Go(func() {
			for row := range sample {
				path := "/v1/boards/" + board + "/users/" + url.PathEscape(row.user) + "/rank?precision="
				if err := errors.Join(f.compareExact(a, path, row, &later), f.compareEstimate(a, path, row, &later)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range n {
		sample <- f.rows[random.IntN(len(f.rows))]
	}
	close(sample)
	wait.Wait()
	t.Logf("%d ranks compared, exactly and by estimate; asked again because of another status than fresh: %d times", n, later.Load())
}

// standing is a rank answer.
type standing struct {
	Status, User, Precision string
	Score                   int64
	Rank, Tied              int
	Low                     int `json:"rank_low"`
	High                    int `json:"rank_high"`
}

// askRank asks until the answer is fresh, and counts how often it was not.
func askRank(a api, path string, later *atomic.Int64) (standing, error) {
	for giveUp := time.Now().Add(answerFor); ; later.Add(1) {
		var got standing
		status, err := a.do(http.MethodGet, path, "", &got)
		if err != nil || status != http.StatusOK {
			return got, fmt.Errorf("%s: %d, %w", path, status, err)
		}
		if got.Status == "fresh" {
			return got, nil
		}
		if time.Now().After(giveUp) {
			return got, fmt.Errorf("%s: still %s after %v", path, got.Status, answerFor)
		}
		<-time.After(50 * time.Millisecond) // a client's pause
	}
}

func (f *sortedFile) compareExact(a api, path string, row sortedRow, later *atomic.Int64) error {
	got, err := askRank(a, path+"exact", later)
	if err != nil {
		return err
	}
	rank := 1 + f.above(row.score)
	want := standing{Status: "fresh", User: row.user, Precision: "exact", Score: row.score, Rank: rank, Tied: f.above(row.score-1) + 1 - rank}
	if got != want {
		return fmt.Errorf("exactly %+v, want %+v", got, want)
	}
	return nil
}

func (f *sortedFile) compareEstimate(a api, path string, row sortedRow, later *atomic.Int64) error {
	got, err := askRank(a, path+"approx", later)
	if err != nil {
		return err
	}
	rank := 1 + f.above(row.score)
	if got.Precision != "approx" || got.User != row.user || got.Score != row.score ||
		rank < got.Low || rank > got.High || got.Rank < got.Low || got.Rank > got.High {
		return fmt.Errorf("estimated %+v, which does not hold rank %d of %+v", got, rank, row)
	}
	return nil
}
