package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	checkpointEvery = 10 * time.Second // a changed shard is written this often, or as often as checkpointShare lets it
	checkpointShare = 10               // of this many seconds, one may go into writing checkpoints

	lastCheckpoint = 5 * time.Second // how long the checkpoints at the end may take together
	lastWriters    = 8               // that write them: a disk syncs several files in little more time than one
)

// saving is a shard with its files.
type saving struct {
	shard *shard
	file  *file
}

// changed reports whether the shard is not where its newest checkpoint is.
func (sv saving) changed() bool { return sv.shard.where().At != sv.file.saved }

// Run writes checkpoints of shards that changed, one after the other with pauses between them, until ctx
// ends; then those that are left, within 5 s. A checkpoint that fails is logged, counted, and tried again
// in its turn: it costs no more than a longer way through the log after a restart. Run returns nil when
// ctx has ended. Only one Run at a time.
func (s *Store) Run(ctx context.Context) error {
	if s.dir == "" {
		<-ctx.Done()
		return nil
	}
	z, err := newCompressor()
	if err != nil {
		return err
	}
	pause := time.NewTimer(checkpointEvery)
	defer pause.Stop()
	for turn := 0; ; {
		select {
		case <-ctx.Done():
			s.saveAll(context.WithoutCancel(ctx))
			return nil
		case <-pause.C:
		}
		began := time.Now()
		all := s.savings()
		turn = s.saveNext(ctx, z, all, turn)
		pause.Reset(max(checkpointEvery/time.Duration(max(len(all), 1)), (checkpointShare-1)*time.Since(began)))
	}
}

// saveNext saves the first changed shard from turn on, and returns whose turn is next.
func (s *Store) saveNext(ctx context.Context, z *zstd.Encoder, all []saving, turn int) int {
	for range all {
		next := all[turn%len(all)]
		turn++
		if next.changed() {
			s.save(ctx, z, next)
			break
		}
	}
	return turn
}

func (s *Store) save(ctx context.Context, z *zstd.Encoder, sv saving) {
	began := time.Now()
	size, err := sv.file.write(ctx, z, sv.shard.freeze())
	switch {
	case errors.Is(err, context.Canceled): // Run ends, and saves what is left
	case err != nil:
		s.failed(sv, err)
	default:
		s.wrote(size, time.Since(began))
	}
}

func (s *Store) failed(sv saving, err error) {
	s.metrics.failures.Inc()
	s.log.Error("a checkpoint could not be written", "board", sv.shard.board.ID, "shard", sv.shard.index, "error", err)
}

func (s *Store) wrote(size int64, took time.Duration) {
	s.metrics.checkpoints.Observe(took.Seconds())
	s.metrics.bytes.Add(float64(size))
}

// savings are all shards that have files, in the order their boards were loaded.
func (s *Store) savings() []saving {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.saved
}
