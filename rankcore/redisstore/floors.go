package redisstore

import (
	"sync"

	"rankgate/rankcore"
)

// floors are the newest positions at which this process has seen shards, or heard of them. A shard further back than that has been
// restored from an older dump, or a replica that lagged took its place: the applier will feed it again, but
// notices only with its next step or heartbeat, and until then nobody may take what it shows for current.
// Safe for concurrent use.
type floors struct {
	mu   sync.Mutex // guards seen
	seen map[shardID]rankcore.Position
}

// raise notes that the shard is at p.
func (f *floors) raise(id shardID, p rankcore.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[id] = rankcore.Newer(f.seen[id], p)
}

// Reached takes note of where shards of a board are, by the word of whoever feeds them: a process that only reads
// would notice that a shard has gone back no further than to what it has read itself.
func (s *Store) Reached(b rankcore.BoardID, r rankcore.Reached) {
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	for _, shard := range r.Shards {
		id := shardID{b, shard}
		s.floors.seen[id] = rankcore.Newer(s.floors.seen[id], r.At)
	}
}

// of are the floors of the shards as they are now. A reader takes them before it asks, as a step may raise them
// while its question is under way.
func (f *floors) of(b *rankcore.Board, shards ...int) []rankcore.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]rankcore.Position, len(shards))
	for i, shard := range shards {
		list[i] = f.seen[shardID{b.ID, shard}]
	}
	return list
}

// goneBack reports whether a shard at p has been further. A log that lost its tail gives lower sequences at later
// times, and one whose clock went back earlier times with higher ones; neither is a shard going back.
func goneBack(p, floor rankcore.Position) bool {
	return p.Seq < floor.Seq && p.Time < floor.Time
}
