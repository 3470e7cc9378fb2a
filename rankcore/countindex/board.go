package countindex

import (
	"slices"
	"sync"
	"time"

	"rankgate/rankcore"
	"rankgate/rankcore/tally"
)

// board is the index of one board.
type board struct {
	*rankcore.Board

	mu      sync.RWMutex // guards what follows. Never held while waiting or asking the store
	news    chan struct{}
	seasons map[rankcore.SeasonID]*season
	retired map[rankcore.SeasonID]bool // by some shard: others may still have members there, and are not followed
	parts   []part                     // by shard
	doubts  int                        // shards of which it is not known whether they took a step
	ready   bool
	broken  string    // why the building has to begin anew; empty when it has not
	until   time.Time // every shard has been heard so recently that the index is current until then
	began   time.Time // the building
	took    time.Duration

	tickets  uint64 // calls that carried steps so far
	underWay []uint64
	watches  []*watch
}

// season is the members of one season.
type season struct {
	counts  tally.Counts
	head    head
	members []int64             // by shard
	changed []rankcore.Position // by shard
	version rankcore.Position   // the newest of changed
	past    past
}

// part is what the index has of one shard.
type part struct {
	at     rankcore.Position // what is counted of the shard is counted as it was there
	heard  time.Time         // when the shard last said where it is; zero: not yet
	doubt  bool
	listed bool                        // which seasons the shard has is known
	todo   map[rankcore.SeasonID]int64 // seasons that are not counted whole: the key up to which they are
}

func (p *part) whole() bool { return p.listed && len(p.todo) == 0 }

// current is how long after a shard was last heard the index may still be called current. The heartbeat hears each of
// them every second, and no other process applies the board within two of the last sign of life of this one.
const current = 2 * time.Second

func newBoard(def *rankcore.Board) *board {
	b := &board{Board: def, news: make(chan struct{})}
	b.clear()
	return b
}

// clear forgets everything counted. What is known of where shards are stays.
func (b *board) clear() {
	b.seasons, b.retired = map[rankcore.SeasonID]*season{}, map[rankcore.SeasonID]bool{}
	old := b.parts
	b.parts = make([]part, b.Shards)
	for i := range old {
		b.parts[i] = part{at: old[i].at, heard: old[i].heard, doubt: old[i].doubt}
	}
	b.ready, b.broken, b.took, b.watches = false, "", 0, nil
}

// breakUp marks the index as one that has to be built anew: what a shard brought to it cannot be taken out again.
func (b *board) breakUp(why string) {
	b.ready = false
	if b.broken == "" {
		b.broken = why
	}
}

// tell wakes whoever waits for something to change.
func (b *board) tell() {
	close(b.news)
	b.news = make(chan struct{})
}

func (b *board) season(id rankcore.SeasonID) *season {
	s := b.seasons[id]
	if s == nil {
		s = &season{head: headOf(b.Board), members: make([]int64, b.Shards), changed: make([]rankcore.Position, b.Shards)}
		b.seasons[id] = s
	}
	return s
}

// add changes how many members of a shard stand at a key; false where fewer than none would be left.
func (s *season) add(shard int, key, n int64) bool {
	s.members[shard] += n
	return s.counts.Add(key, n) && s.head.add(shard, key, n)
}

// begun is the newest call that carries steps.
func (b *board) begun() uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tickets
}

// verdict is what the index can say to a question now.
type verdict uint8

const (
	counted    verdict = iota
	wait               // until something changes
	moved              // the question is about what has changed since
	notCounted         // it does not know
)

// ask has the board answer if it is certain of the season, held as it is now; news closes when that changes.
func (b *board) ask(about rankcore.SeasonID, asked uint64, now time.Time, answer func(b *board) verdict) (v verdict, news <-chan struct{}) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if v = b.certain(about, asked, now); v == counted {
		v = answer(b)
	}
	return v, b.news
}

// certain tells whether the index has everything that shards had when the question was asked: it is ready, every
// shard has been heard of late, and the calls that were under way then are over.
func (b *board) certain(season rankcore.SeasonID, asked uint64, now time.Time) verdict {
	switch {
	case !b.ready || b.doubts > 0 || !now.Before(b.until) || b.retired[season]:
		return notCounted
	case len(b.underWay) > 0 && b.underWay[0] <= asked:
		return wait
	}
	return counted
}

// made reports whether every shard has taken in something of the log.
func (b *board) made() bool {
	return !slices.ContainsFunc(b.parts, func(p part) bool { return p.at.IsNone() })
}

func (b *board) state(now time.Time, leads bool) State {
	b.mu.RLock()
	defer b.mu.RUnlock()
	st := State{Ready: b.ready && leads && b.doubts == 0 && now.Before(b.until), Took: b.took}
	for i := range b.parts {
		if b.parts[i].whole() {
			st.Scanned++
		}
	}
	for _, s := range b.seasons {
		st.Members += s.counts.Total()
		st.Scores += s.counts.Distinct()
		st.Bytes += s.counts.Bytes()
	}
	switch {
	case st.Ready:
	case !leads || !now.Before(b.until):
		st.Why = "this process does not apply the board"
	case b.broken != "":
		st.Why = b.broken
	case b.doubts > 0:
		st.Why = "a shard does not answer"
	default:
		st.Why = "it is being built"
	}
	return st
}
