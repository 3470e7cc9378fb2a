package countindex

import (
	"maps"
	"slices"

	"rankgate/rankcore"
)

// watch is how a season stood when it began, and what steps have done to it since. With it the index of a board that
// changes all the time can be held against shards that are read one after the other, each as it was when it was read.
type watch struct {
	season  rankcore.SeasonID
	changed []rankcore.Position        // by shard
	counts  map[rankcore.Segment]int64 // of keys
	since   [][]seen                   // by shard, in order
	room    int                        // for moves
}

// seen is what one step did.
type seen struct {
	at    rankcore.Position
	moves []rankcore.Move
}

// mostSeen bounds the moves that a watch keeps: some seconds of a very busy board.
const mostSeen = 1 << 20

// look begins a watch; nil when the index is not ready. It costs what Counts.Segments does.
func (b *board) look(season rankcore.SeasonID) *watch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ready || b.retired[season] {
		return nil
	}
	w := &watch{
		season: season, changed: make([]rankcore.Position, b.Shards), counts: map[rankcore.Segment]int64{},
		since: make([][]seen, b.Shards), room: mostSeen,
	}
	if s := b.seasons[season]; s != nil {
		copy(w.changed, s.changed)
		for _, g := range s.counts.Segments() {
			w.counts[g.Segment] = g.Members
		}
	}
	b.watches = append(b.watches, w)
	return w
}

func (b *board) lookAway(w *watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watches = slices.DeleteFunc(b.watches, func(o *watch) bool { return o == w })
}

// see notes what a step did.
func (w *watch) see(shard int, m *rankcore.SeasonMoves, at rankcore.Position) {
	if m.Season != w.season {
		return
	}
	if w.room -= len(m.Moves); w.room >= 0 {
		w.since[shard] = append(w.since[shard], seen{at, m.Moves})
	}
}

// differing are segments in which the index and the shards do not have the same number of members.
type differing struct {
	segments []rankcore.Segment // of keys, in order
	recorded int64              // members in them, as the index says
	counted  int64              // as the shards say
}

// sum is what shards count together.
func sum(shards []rankcore.ShardSegments) map[rankcore.Segment]int64 {
	all := map[rankcore.Segment]int64{}
	for i := range shards {
		for _, g := range shards[i].Segments {
			all[g.Segment] += g.Members
		}
	}
	return all
}

// compare holds what shards count together against what the index had of each when it was read. It is counted, wait
// while a shard was further than the index is, and notCounted when the index had to be begun anew or the watch is full.
func (b *board) compare(w *watch, shards []rankcore.ShardSegments, there map[rankcore.Segment]int64) (d differing, v verdict, news <-chan struct{}) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.ready || b.retired[w.season] || !slices.Contains(b.watches, w) || w.room < 0 || len(shards) != b.Shards {
		return d, notCounted, b.news
	}
	index := maps.Clone(w.counts)
	for shard := range shards {
		if !w.bring(shard, shards[shard].Changed, index) {
			return d, wait, b.news
		}
	}
	for g := range there {
		index[g] += 0 // named on either side
	}
	for _, g := range slices.Sorted(maps.Keys(index)) {
		if index[g] != there[g] {
			d.segments = append(d.segments, g)
			d.recorded += index[g]
			d.counted += there[g]
		}
	}
	return d, counted, b.news
}

// bring adds to counts what steps did to a shard up to a position, and reports whether they led there.
func (w *watch) bring(shard int, to rankcore.Position, counts map[rankcore.Segment]int64) bool {
	if w.changed[shard] == to {
		return true
	}
	end := slices.IndexFunc(w.since[shard], func(s seen) bool { return s.at == to })
	for _, s := range w.since[shard][:end+1] {
		for _, m := range s.moves {
			if m.Old != rankcore.NoKey {
				counts[rankcore.SegmentOf(rankcore.Score(m.Old))]--
			}
			if m.New != rankcore.NoKey {
				counts[rankcore.SegmentOf(rankcore.Score(m.New))]++
			}
		}
	}
	return end >= 0
}
