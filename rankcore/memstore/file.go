package memstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

	"rankgate/rankcore"
)

// A checkpoint file is a header, the state compressed by zstd, and the xxhash64 of both.
const (
	magic       = "rankgate shard " // and the format: 1, or 2 with arrivals
	headerBytes = len(magic) + 1 + 4 + 4 + 8 + 64
	sumBytes    = 8
)

var formats = []byte{rankcore.TiesShared: '1', rankcore.TiesFirst: '2'}

// header says what a checkpoint file holds.
type header struct {
	board      rankcore.BoardID
	ties       rankcore.Ties // tells the format
	shards     uint32
	shard      uint32
	generation uint64 // one more than the checkpoint before
}

// file is where one shard's checkpoints are kept: two generations, in turn. Loading and Run use it, never
// at the same time.
type file struct {
	dir    string
	header header            // of the newest good checkpoint; generation 0: there is none
	saved  rankcore.Position // of the newest good checkpoint
}

// path is where a generation stands. Board names hold no dot, so no two boards share a path.
func (f *file) path(generation uint64) string {
	return filepath.Join(f.dir, fmt.Sprintf("%s.%d.%c.ckpt", f.header.board, f.header.shard, 'a'+rune(generation%2)))
}

func (h *header) append(dst []byte) []byte {
	dst = append(append(dst, magic...), formats[h.ties])
	dst = binary.LittleEndian.AppendUint32(dst, h.shards)
	dst = binary.LittleEndian.AppendUint32(dst, h.shard)
	dst = binary.LittleEndian.AppendUint64(dst, h.generation)
	var name [64]byte
	copy(name[:], h.board)
	return append(dst, name[:]...)
}

var errNotWhole = errors.New("not a whole checkpoint")

func parseHeader(data []byte) (h header, err error) {
	if len(data) < headerBytes || string(data[:len(magic)]) != magic {
		return h, errNotWhole
	}
	format := slices.Index(formats, data[len(magic)])
	if format < 0 {
		return h, errNotWhole
	}
	h.ties = rankcore.Ties(format)
	data = data[len(magic)+1:]
	h.shards = binary.LittleEndian.Uint32(data)
	h.shard = binary.LittleEndian.Uint32(data[4:])
	h.generation = binary.LittleEndian.Uint64(data[8:])
	h.board = rankcore.BoardID(bytes.TrimRight(data[16:16+64], "\x00"))
	return h, nil
}

// write writes st as the next generation, over the older of the two. After it has returned nil, the
// checkpoint is on the disk; if it fails or the machine stops, the two files are as they were, or the new
// one is whole. It returns the file's size in bytes.
func (f *file) write(ctx context.Context, z *zstd.Encoder, st *state) (size int64, err error) {
	if size, err = f.put(ctx, z, st); err != nil {
		return 0, err
	}
	if err := syncDir(f.dir); err != nil {
		return 0, err
	}
	f.kept(st)
	return size, nil
}

// kept takes in that what put put there will last.
func (f *file) kept(st *state) {
	f.header.generation++
	f.saved = st.position
}

// put is write up to the point where only the folder is to be synced, which one call can do for many files.
func (f *file) put(ctx context.Context, z *zstd.Encoder, st *state) (size int64, err error) {
	next := f.header
	next.generation++
	path := f.path(next.generation)
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(f.dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pending.Cleanup()) }() // nothing to do once it is in place
	if size, err = fill(ctx, pending, z, next, st); err != nil {
		return 0, err
	}
	return size, pending.CloseAtomicallyReplace()
}

// newCompressor makes what write compresses with. It is costly and serves one file after another.
func newCompressor() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
}

// fill writes the content of a checkpoint file.
func fill(ctx context.Context, w io.Writer, z *zstd.Encoder, h header, st *state) (int64, error) {
	sum := &summer{w: w, hash: xxhash.New()}
	if _, err := sum.Write(h.append(nil)); err != nil {
		return 0, err
	}
	z.Reset(sum)
	if err := encode(ctx, z, st); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, sum.hash.Sum64()))
	return sum.size + sumBytes, err
}

// checkpoint is what a whole file holds.
type checkpoint struct {
	header
	compressed []byte // the state
}

// read returns the content of a file. It fails with errNotWhole when that is not what was once written.
func read(path string) (c checkpoint, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if c.header, err = parseHeader(data); err != nil || len(data) < headerBytes+sumBytes {
		return c, errNotWhole
	}
	content := data[:len(data)-sumBytes]
	if xxhash.Sum64(content) != binary.LittleEndian.Uint64(data[len(content):]) {
		return c, fmt.Errorf("%w: the checksum differs", errNotWhole)
	}
	c.compressed = content[headerBytes:]
	return c, nil
}

// syncDir makes the renames in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// summer hashes and counts what goes through it.
type summer struct {
	w    io.Writer
	hash *xxhash.Digest
	size int64
}

func (s *summer) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	_, _ = s.hash.Write(p[:n]) // never fails
	s.size += int64(n)
	return n, err
}
