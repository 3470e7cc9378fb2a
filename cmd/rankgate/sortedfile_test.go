package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
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

const askers = 8 // at one time

// compareRanks asks for n users, spread over all ranks, exactly and by estimate.
func (f *sortedFile) compareRanks(t *testing.T, a api, board string, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	sample := make(chan sortedRow)
	var wait sync.WaitGroup
	for range askers {
		wait.Go(func() {
			for row := range sample {
				if err := f.compareRank(a, board, row); err != nil {
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
}

func (f *sortedFile) compareRank(a api, board string, row sortedRow) error {
	path := "/v1/boards/" + board + "/users/" + url.PathEscape(row.user) + "/rank?precision="
	rank := 1 + f.above(row.score)
	tied := f.above(row.score-1) - f.above(row.score)
	var got struct {
		User, Precision string
		Score           int64
		Rank, Tied      int
		Low             int `json:"rank_low"`
		High            int `json:"rank_high"`
	}
	if status, err := a.do(http.MethodGet, path+"exact", "", &got); err != nil || status != http.StatusOK {
		return fmt.Errorf("%s: %d, %w", row.user, status, err)
	}
	if got.Precision != "exact" || got.User != row.user || got.Score != row.score || got.Rank != rank || got.Tied != tied {
		return fmt.Errorf("%+v: exactly %+v, want rank %d, tied %d", row, got, rank, tied)
	}
	if status, err := a.do(http.MethodGet, path+"approx", "", &got); err != nil || status != http.StatusOK {
		return fmt.Errorf("%s: %d, %w", row.user, status, err)
	}
	if got.Precision != "approx" || got.Score != row.score || rank < got.Low || rank > got.High || got.Rank < got.Low || got.Rank > got.High {
		return fmt.Errorf("%+v: estimated %+v, which does not hold rank %d", row, got, rank)
	}
	return nil
}
