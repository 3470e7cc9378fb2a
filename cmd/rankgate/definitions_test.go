package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rankgate/rankcore"
)

// What members' scores and places depend on is fixed once a board holds something; what is asked of it later is not.
func TestDefinitionsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	board := func(change func(*rankcore.Board)) []*rankcore.Board {
		b := &rankcore.Board{ID: "power", Scale: 2, Shards: 16, Head: 1000}
		if change != nil {
			change(b)
		}
		return []*rankcore.Board{{ID: "other", Shards: 4}, b}
	}
	keep := func(change func(*rankcore.Board)) error { return keepDefinitions(dir, board(change)) }
	scale := func(b *rankcore.Board) { b.Scale = 0 }
	for _, change := range []func(*rankcore.Board){nil, scale, nil} { // it holds nothing yet
		if err := keep(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "power.3.a.ckpt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*rankcore.Board){
		"scale: 2, not 0":         scale,
		"order: desc, not asc":    func(b *rankcore.Board) { b.Order = rankcore.Asc },
		"update: add, not best":   func(b *rankcore.Board) { b.Update = rankcore.UpdateBest },
		"ties: shared, not first": func(b *rankcore.Board) { b.Ties = rankcore.TiesFirst },
		"shards: 16, not 4":       func(b *rankcore.Board) { b.Shards = 4 },
		"":                        func(b *rankcore.Board) { b.Head = 10 },
		"configure scale: 2, or":  scale,
	} {
		err := keep(change)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `board "power"`)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := keep(nil); err != nil { // refused ones were not noted
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "boards.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keep(nil); err == nil || !strings.Contains(err.Error(), "boards.json") {
		t.Errorf("a spoilt note: %v", err)
	}
}
