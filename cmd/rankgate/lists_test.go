package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

// TestEveryAnswerTellsTheSameRank: top, rank, around, batch and pages agree about everybody on boards full of ties,
// in both orders, with both rules for ties and with decimals (CASE 2), as a client over HTTP sees them.
func TestEveryAnswerTellsTheSameRank(t *testing.T) {
	cfg := embedded(t)
	a, _ := startEdge(t, cfg)
	client, err := loadtest.NewClient(loadtest.ClientConfig{URL: a.url})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, b := range cfg.Boards {
		var want []rankcore.Entry
		body := ""
		for i := range 200 {
			e := rankcore.Entry{User: rankcore.UserID(fmt.Sprintf("player/%d é", i*7%200)), Score: rankcore.Score(i % 9 * 50)}
			if b.Ties == rankcore.TiesFirst {
				e.Arrival = rankcore.Arrival(i)
			}
			want = append(want, e)
			body += fmt.Sprintf(`,{"user":%q,%q:%s}`, e.User, b.Update, rankcore.AppendJSONScore(nil, e.Score, b.Scale))
		}
		slices.SortFunc(want, b.Order.Compare)
		b.Ties.SetRanks(want, 0, 0)
		for i := range want {
			want[i].Arrival = 0 // clients are not told
		}
		var answer struct{ Applied bool }
		if status, err := a.do(http.MethodPost, "/v1/boards/"+string(b.ID)+"/scores?wait=applied", `{"ops":[`+body[1:]+`]}`, &answer); err != nil || !answer.Applied {
			t.Fatalf("%d, %v", status, err)
		}
		eventually(t, 20*time.Second, func() error {
			page, err := client.Top(t.Context(), rankcore.TopQuery{Board: b, Season: "all", Limit: len(want)})
			if err != nil || !slices.Equal(page.Entries, want) {
				return fmt.Errorf("top: %+v, %w", page, err)
			}
			return nil
		})
		checkLists(t, client, b, want)
	}
}

func checkLists(t *testing.T, client *loadtest.Client, b *rankcore.Board, want []rankcore.Entry) {
	t.Helper()
	var walked []rankcore.Entry
	for q := (rankcore.RowsQuery{Board: b, Season: "all", Limit: 33}); ; {
		page, err := client.Rows(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		n := len(page.Entries)
		q.After = page.Entries[n-1].Place()
		page.Entries[n-1].Arrival = 0
		walked = append(walked, page.Entries...)
		if !page.More {
			break
		}
	}
	if !slices.Equal(walked, want) {
		t.Fatalf("pages:\n got %v\nwant %v", walked, want)
	}
	var asked []rankcore.UserID
	for i := 0; i < len(want); i += 17 {
		e := want[i]
		asked = append(asked, e.User)
		st, err := client.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: e.User})
		if err != nil || st.Rank != e.Rank || st.Score != e.Score {
			t.Errorf("rank: %+v, %v, want %+v", st, err, e)
		}
		page, err := client.Rows(t.Context(), rankcore.RowsQuery{Board: b, Season: "all", Around: e.User, Limit: 5})
		if err != nil || !slices.Contains(page.Entries, e) {
			t.Errorf("around: %+v, %v, want %+v", page, err, e)
		}
	}
	batch, err := client.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: append(asked, "nobody")})
	if err != nil || len(batch.Users) != len(asked)+1 || batch.Users[len(asked)] != nil {
		t.Fatalf("batch: %+v, %v", batch, err)
	}
	for i, st := range batch.Users[:len(asked)] {
		if e := want[i*17]; st.User != e.User || st.Rank != e.Rank || st.Score != e.Score {
			t.Errorf("batch: %+v, want %+v", st, e)
		}
	}
}
