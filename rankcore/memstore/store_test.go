package memstore

import (
	"bytes"
	"context"
	"testing"

	"rankgate/rankcore"
	"rankgate/rankcore/storetest"
)

func open(t *testing.T, boards ...*rankcore.Board) *Store {
	t.Helper()
	s, err := New(Config{Boards: boards})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		return open(t, boards...)
	})
}

// TestStoreAcrossRestarts: a store that is written to a checkpoint and read back after every batch answers
// like one that is not.
func TestStoreAcrossRestarts(t *testing.T) {
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		return &restarting{open(t, boards...), t}
	})
}

type restarting struct {
	*Store
	t *testing.T
}

func (r *restarting) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	results := r.Store.Apply(ctx, b, steps)
	bd := r.boards[b.ID]
	shards := bd.shards
	clear(bd.seasons)
	for i, sh := range shards {
		var written bytes.Buffer
		if err := encode(ctx, &written, sh.freeze()); err != nil {
			r.t.Fatal(err)
		}
		shards[i] = newShard(sh.board, i, bd.whole)
		if err := decode(written.Bytes(), shards[i]); err != nil {
			r.t.Fatal(err)
		}
	}
	bd.assemble()
	return results
}
