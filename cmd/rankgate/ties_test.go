package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

// TestTiesOutliveTheirShards: who reached a score first is told by the log alone, so shards that are lost and fed again
// by a log that was restarted have the same order, and whoever comes later still stands behind (CASE 3).
func TestTiesOutliveTheirShards(t *testing.T) {
	cfg := embedded(t)
	var b *rankcore.Board
	for _, b = range cfg.Boards {
		if b.ID == "first" {
			break
		}
	}
	var want []rankcore.UserID
	write := func(a api) {
		t.Helper()
		body := ""
		for range 40 {
			u := rankcore.UserID(fmt.Sprint("u", 999-len(want))) // later ones have smaller ids
			want = append(want, u)
			body += fmt.Sprintf(`,{"user":%q,"set":7}`, u)
		}
		var answer struct{ Applied bool }
		if status, err := a.do(http.MethodPost, "/v1/boards/first/scores?wait=applied", `{"ops":[`+body[1:]+`]}`, &answer); err != nil || !answer.Applied {
			t.Fatalf("%d, %v", status, err)
		}
	}
	for round := range 3 {
		a, stop := startEdge(t, cfg)
		client, err := loadtest.NewClient(loadtest.ClientConfig{URL: a.url})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for range 2 {
			write(a)
			eventually(t, 20*time.Second, func() error {
				page, err := client.Top(t.Context(), rankcore.TopQuery{Board: b, Season: "all", Limit: len(want)})
				if err != nil {
					return err
				}
				got := make([]rankcore.UserID, len(page.Entries))
				for i, e := range page.Entries {
					if got[i] = e.User; e.Rank != int64(i)+1 {
						return fmt.Errorf("row %d is of rank %d", i, e.Rank)
					}
				}
				if !slices.Equal(got, want) {
					return fmt.Errorf("round %d: %v\nwant %v", round, got, want)
				}
				return nil
			})
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(cfg.Data, "store")); err != nil {
			t.Fatal(err)
		}
	}
}
