package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
)

// A store that comes back with an older checkpoint, or with none, is fed what it lacks, once.
func TestMemstoreSetBackIsFedFromWhereItIs(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 4)
	l, _ := r.runLog(nil, b)
	dir := filepath.Join(t.TempDir(), "store")
	want := map[string]int64{}
	open := func() (*memstore.Store, func()) {
		t.Helper()
		store, err := memstore.New(memstore.Config{Dir: dir, Boards: []*rankcore.Board{b}, Log: r.logger})
		if err != nil {
			t.Fatal(err)
		}
		stopStore := running(t, store.Run)
		a, stopApplier := r.runApplier(l, b, store)
		settled(t, a, l.stream)
		return store, func() { stopApplier(); stopStore() }
	}
	load := func(name string) {
		t.Helper()
		store, stop := open()
		scores(t, store, b, want)
		fill(t, l, b, name, 40, want)
		scores(t, store, b, want)
		stop()
	}
	load("a")
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	load("b")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(older)); err != nil {
		t.Fatal(err)
	}
	load("c")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	load("d")
}

func scores(t *testing.T, store *memstore.Store, b *rankcore.Board, want map[string]int64) {
	t.Helper()
	eventually(t, func() string {
		for user, n := range want {
			s, err := store.Rank(context.Background(), rankcore.RankQuery{Board: b, Season: "all", User: rankcore.UserID(user), Precision: rankcore.Exact})
			if err != nil || int64(s.Score) != n {
				return fmt.Sprintf("%s: %v %v, want %d", user, s, err, n)
			}
		}
		return ""
	})
}
