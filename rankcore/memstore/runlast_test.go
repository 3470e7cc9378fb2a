package memstore

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

// manyShards is a board of thousands of shards, all of which have moved since they were saved.
func manyShards(tb testing.TB, log *slog.Logger) *crowd {
	tb.Helper()
	c := &crowd{board: benchBoard(rankcore.TiesShared), rand: rand.New(rand.NewPCG(1, 2)), at: rankcore.Position{Time: time.Now().UnixNano()}}
	c.board.Shards = rankcore.MaxShards
	var err error
	if c.store, err = New(Config{Dir: tb.TempDir(), Boards: []*rankcore.Board{c.board}, Log: log}); err != nil {
		tb.Fatal(err)
	}
	c.feed(tb, c.sets(100, 1000))
	return c
}

// However many shards there are, the last checkpoints are whole; and those there is no time for are told of in one
// line, since the log has what they lack.
func TestLastCheckpointsOfManyShards(t *testing.T) {
	var said bytes.Buffer
	c := manyShards(t, slog.New(slog.NewTextHandler(&said, nil)))
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	c.store.saveAll(over)
	if n := strings.Count(said.String(), "\n"); n != 1 || !strings.Contains(said.String(), "shards=4096 of=4096") {
		t.Errorf("%d lines: %s", n, &said)
	}
	said.Reset()
	for c.changed() > 0 && said.Len() == 0 { // a busy machine may need another turn, and would have said so
		c.store.saveAll(t.Context())
	}
	if c.changed() > 0 && !strings.Contains(said.String(), "level=WARN") || strings.Contains(said.String(), "level=ERROR") {
		t.Errorf("said %s", &said)
	}
	again, _ := reopen(t, c.store.dir, c.board)
	for i, r := range again.Positions(t.Context(), c.board) {
		if saved := c.store.boards["crowd"].files[i].saved; r.At != saved {
			t.Fatalf("shard %d was found at %v, but %v was saved", i, r.At, saved)
		}
	}
}

func (c *crowd) changed() (n int) {
	for _, sv := range c.store.savings() {
		if sv.changed() {
			n++
		}
	}
	return n
}

// BenchmarkLastCheckpoints tells how long a stop takes to save 4096 shards that a heartbeat moved.
func BenchmarkLastCheckpoints(b *testing.B) {
	c := manyShards(b, slog.New(slog.DiscardHandler))
	for b.Loop() {
		c.feed(b, nil)
		c.store.saveAll(b.Context())
		b.ReportMetric(float64(c.changed()), "left")
	}
}
