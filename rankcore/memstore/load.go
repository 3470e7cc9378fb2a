package memstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

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
	bd := &board{whole: newWhole(), def: b, shards: make([]*shard, b.Shards)}
	if s.dir == "" {
		for i := range bd.shards {
			bd.shards[i] = newShard(b, i, bd.whole)
		}
		return bd, nil
	}
	bd.files = make([]*file, b.Shards)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range bd.shards {
		g.Go(func() (err error) {
			bd.files[i] = &file{dir: s.dir, header: header{board: b.ID, ties: b.Ties, shards: uint32(b.Shards), shard: uint32(i)}}
			bd.shards[i], err = s.loadShard(b, bd.files[i], bd.whole)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	bd.assemble()
	return bd, nil
}

// loadShard reads the newer of a shard's two checkpoints, or the older one if that is not whole. With
// neither the shard is empty, and the log has to feed it from its first message.
func (s *Store) loadShard(b *rankcore.Board, f *file, w *whole) (*shard, error) {
	var found []checkpoint
	for slot := range uint64(2) {
		c, err := read(f.path(slot))
		switch {
		case err == nil:
			found = append(found, c)
		case errors.Is(err, errNotWhole):
			s.passOver(f, f.path(slot), err)
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b checkpoint) int { return cmp.Compare(b.generation, a.generation) })
	for _, c := range found {
		if err := f.header.fits(&c.header); err != nil {
			return nil, err
		}
		sh := newShard(b, int(f.header.shard), w)
		if err := c.restore(sh); err != nil {
			s.passOver(f, f.path(c.generation), err)
			continue
		}
		f.header, f.saved = c.header, sh.position
		return sh, nil
	}
	return newShard(b, int(f.header.shard), w), nil
}

func (s *Store) passOver(f *file, path string, err error) {
	s.metrics.badFiles.Inc()
	s.log.Error("a checkpoint cannot be used; taking the one before, or reading the log from its start",
		"board", f.header.board, "shard", f.header.shard, "file", path, "error", err)
}

// fits says whether a file found in this place was written for it.
func (h *header) fits(found *header) error {
	if found.board == h.board && found.shards == h.shards && found.shard == h.shard && found.ties == h.ties {
		return nil
	}
	if found.ties != h.ties {
		return fmt.Errorf("its checkpoints were written with ties: %v, which is fixed once the board exists: "+
			"configure that, or move the checkpoints away to have the board built from the log again", found.ties)
	}
	return fmt.Errorf("its checkpoints were written for %d shards (board %q, shard %d), not for %d (board %q, shard %d); "+
		"a shard count is fixed once the board exists: configure shards: %[1]d, or move the checkpoints away to have the board built from the log again",
		found.shards, found.board, found.shard, h.shards, h.board, h.shard)
}

// restore fills an empty shard with the checkpoint's state.
func (c *checkpoint) restore(s *shard) error {
	plain, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer plain.Close()
	data, err := plain.DecodeAll(c.compressed, nil)
	if err != nil {
		return err
	}
	return decode(data, s)
}
