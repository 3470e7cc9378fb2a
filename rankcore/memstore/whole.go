package memstore

import (
	"sync"

	"rankgate/rankcore"
	"rankgate/rankcore/tally"
)

// whole is what the shards of a board are together.
type whole struct {
	// mu guards the shards and all below, and what they lead to. A step holds it for its operations, at most about
	// 500, and a checkpoint to freeze a shard; never held while reading or writing a file, or waiting. Readers hold
	// it while they read, so that totals, ranks and lists of one answer agree.
	mu      sync.RWMutex
	seasons map[rankcore.SeasonID]*standings
}

func newWhole() *whole { return &whole{seasons: map[rankcore.SeasonID]*standings{}} }

// standings are one season in all shards: how many members stand at each key, so that a rank is one lookup and not
// one for each shard, and the shards' parts, which know who they are.
type standings struct {
	counts tally.Counts
	parts  []*season
}

// join counts a shard's part of a season among the others.
func (w *whole) join(id rankcore.SeasonID, part *season) {
	all := w.seasons[id]
	if all == nil {
		all = &standings{}
		w.seasons[id] = all
	}
	all.parts = append(all.parts, part)
	part.all = all
	all.count(part)
}

// count adds the members that a part has already.
func (all *standings) count(part *season) {
	part.ranked.scan(0, func(e entry) bool { return all.counts.Add(e.key, 1) })
}

// recount counts a season from its parts, some 0.2 s for a million members. Nobody is answered meanwhile.
func (w *whole) recount(id rankcore.SeasonID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all := w.seasons[id]; all != nil {
		all.counts = tally.Counts{}
		for _, part := range all.parts {
			all.count(part)
		}
	}
}

// retire forgets a season. The first shard whose time comes retires it for all: the others, which come next, may
// still write to their parts, but nobody sees them.
func (w *whole) retire(id rankcore.SeasonID) {
	all := w.seasons[id]
	if all == nil {
		return
	}
	for _, part := range all.parts {
		part.all = nil
	}
	delete(w.seasons, id)
}

// version is the newest step that changed what readers of the season see.
func (all *standings) version() (v rankcore.Position) {
	for _, part := range all.parts {
		if newer(part.changed, v) {
			v = part.changed
		}
	}
	return v
}
