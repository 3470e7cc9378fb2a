package memstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"rankgate/rankcore"
)

// prepareDir makes the folder, and removes what checkpoints that never came to their end left there.
func (s *Store) prepareDir() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(s.dir, ".*.ckpt*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// loadShards makes a board's shards, from their checkpoints where there are some.
func (s *Store) loadShards(b *rankcore.Board) (*board, error) {
	bd := &board{def: b, shards: make([]*shard, b.Shards)}
	if s.dir == "" {
		for i := range bd.shards {
			bd.shards[i] = newShard(b, i)
		}
		return bd, nil
	}
	bd.files = make([]*file, b.Shards)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range bd.shards {
		g.Go(func() (err error) {
			bd.files[i] = &file{dir: s.dir, header: header{board: b.ID, shards: uint32(b.Shards), shard: uint32(i)}}
			bd.shards[i], err = s.loadShard(b, bd.files[i])
			return err
		})
	}
	return bd, g.Wait()
}

// loadShard reads the newer of a shard's two checkpoints, or the older one if that is not whole. With
// neither the shard is empty, and the log has to feed it from its first message.
func (s *Store) loadShard(b *rankcore.Board, f *file) (*shard, error) {
	newest := uint64(0)
	if generationAt(f.path(1)) > generationAt(f.path(0)) {
		newest = 1
	}
	for _, slot := range []uint64{newest, newest + 1} {
		path := f.path(slot)
		sh, h, err := loadFile(path, b, int(f.header.shard))
		switch {
		case err == nil:
			f.header, f.saved = h, sh.position
			return sh, nil
		case errors.Is(err, os.ErrNotExist):
		case errors.Is(err, os.ErrPermission), errors.Is(err, errLayout):
			return nil, err
		default:
			s.metrics.badFiles.Inc()
			s.log.Error("a checkpoint cannot be used; taking the one before, or reading the log from its start",
				"board", b.ID, "shard", f.header.shard, "file", path, "error", err)
		}
	}
	return newShard(b, int(f.header.shard)), nil
}

var errLayout = errors.New("a board's shard count is fixed once it exists")

// loadFile reads one checkpoint file into a new shard.
func loadFile(path string, b *rankcore.Board, index int) (*shard, header, error) {
	h, compressed, err := read(path)
	if err != nil {
		return nil, h, err
	}
	if h.board != b.ID || int(h.shards) != b.Shards || int(h.shard) != index {
		return nil, h, fmt.Errorf("%w: %s was written for shard %d of %d of board %q, not for shard %d of %d of board %q; "+
			"configure shards: %[3]d, or move the board's checkpoints away to have it built from the log again",
			errLayout, path, h.shard, h.shards, h.board, index, b.Shards, b.ID)
	}
	plain, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, h, err
	}
	defer plain.Close()
	data, err := plain.DecodeAll(compressed, nil)
	if err != nil {
		return nil, h, err
	}
	s := newShard(b, index)
	if err := decode(data, s); err != nil {
		return nil, h, err
	}
	return s, h, nil
}
