package countindex

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// slow is a store that takes a while for each question; one member stands in each shard.
type slow time.Duration

func (s slow) Counts(_ context.Context, _ *rankcore.Board, asked []rankcore.CountsQuery) []rankcore.Counts {
	time.Sleep(time.Duration(s))
	answers := make([]rankcore.Counts, len(asked))
	for i, q := range asked {
		answers[i].At = q.At
		if q.Season == "" {
			answers[i].Seasons = []rankcore.SeasonID{"all"}
			continue
		}
		answers[i].Counts, answers[i].Ended = []rankcore.KeyCount{{Key: 7, Count: 1}}, true
	}
	return answers
}

// TestBuildingTellsHowFarItIs: every 10 s.
func TestBuildingTellsHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		def := &rankcore.Board{ID: "power", Shards: 4 * atOnce}
		x := New(Config{Boards: []*rankcore.Board{def}, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err := x.build(t.Context(), x.boards[def.ID], slow(3*time.Second)); err != nil { // 8 questions
			t.Fatal(err)
		}
		if got := strings.Count(said.String(), "is being built"); got != 2 || !strings.Contains(said.String(), "members=8 shards=8 of=16") {
			t.Errorf("it said %d times: %s", got, &said)
		}
	})
}
