package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// saveAll saves every changed shard that there is time for. Heartbeats move every shard of a board, so that all may
// have changed, and a folder of thousands is synced once for them all.
func (s *Store) saveAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastCheckpoint)
	defer cancel()
	var changed []saving
	for _, next := range s.savings() {
		if next.changed() {
			changed = append(changed, next)
		}
	}
	if len(changed) == 0 {
		return
	}
	put := make([]*state, len(changed)) // nil: not written
	turns := make(chan int)
	var g errgroup.Group
	for range min(lastWriters, len(changed)) {
		g.Go(func() error {
			z, err := newCompressor()
			for i := range turns {
				if err == nil {
					put[i] = s.put(ctx, z, changed[i])
				}
			}
			return err
		})
	}
	for i := range changed {
		if ctx.Err() != nil {
			break
		}
		turns <- i
	}
	close(turns)
	err := g.Wait()
	if err = errors.Join(err, syncDir(s.dir)); err != nil {
		s.metrics.failures.Inc()
		s.log.Error("the last checkpoints may not last", "error", err)
		return
	}
	left := 0
	for i, st := range put {
		if st == nil {
			left++
			continue
		}
		changed[i].file.kept(st)
	}
	if left > 0 {
		s.log.Warn("not every checkpoint could be written at the end; the log has what those shards lack, and the next start reads it",
			"shards", left, "of", len(changed), "within", lastCheckpoint)
	}
}

// put writes one shard's checkpoint but for the folder's part, and returns what it holds; nil when it failed.
func (s *Store) put(ctx context.Context, z *zstd.Encoder, sv saving) *state {
	began, st := time.Now(), sv.shard.freeze()
	size, err := sv.file.put(ctx, z, st)
	switch {
	case errors.Is(err, context.DeadlineExceeded): // told once, for all of them
		return nil
	case err != nil:
		s.failed(sv, err)
		return nil
	}
	s.wrote(size, time.Since(began))
	return st
}
