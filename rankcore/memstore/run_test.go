package memstore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// TestRun: every changed shard is saved within the interval and the changes left when it ends at the end,
// and unchanged shards are left alone.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, dir, rankcore.TiesShared, 1000)
		generations := func() (sum uint64) {
			for _, f := range c.store.boards["crowd"].files {
				sum += f.header.generation
			}
			return sum
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.store.Run(ctx) }()

		time.Sleep(2*checkpointEvery + time.Second)
		synctest.Wait()
		if got := generations(); got != uint64(c.board.Shards) {
			t.Errorf("%d checkpoints of %d shards that changed once", got, c.board.Shards)
		}
		if s, _ := reopen(t, dir, c.board); s.Positions(t.Context(), c.board)[7].At != c.at {
			t.Error("a restart does not find what was saved")
		}
		c.feed(t, c.sets(200, 1000))
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := generations(); got != 2*uint64(c.board.Shards) {
			t.Errorf("%d checkpoints at the end, want two of each of %d shards", got, c.board.Shards)
		}
		if s, _ := reopen(t, dir, c.board); s.Positions(t.Context(), c.board)[7].At != c.at {
			t.Error("a restart does not find what was saved at the end")
		}
	})
}

// TestRunWithoutFolder: Run waits for its end and leaves nothing.
func TestRunWithoutFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "", rankcore.TiesShared, 10)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := c.store.Run(ctx); err != nil || ctx.Err() == nil {
			t.Errorf("%v, before its context ended", err)
		}
	})
}
