package redisstore

import (
	"slices"
	"sync"
	"time"

	"rankgate/rankcore"
)

const (
	mostLastRows  = 1 << 19 // rows kept, of all seasons; some 100 bytes each
	mostLastSteps = 8       // readings kept of one shard

	// standInLag is how long after its reading a shard may have changed and its rows still stand in. Older ones would be
	// of another time than what the other shards have now, and could make ranks better than they were at either.
	standInLag = 2 * time.Second
)

// lastRows are the first rows of shards as they were last read, for times when a shard does not answer. Seasons that
// have not been read for longest are forgotten first. Safe for concurrent use.
type lastRows struct {
	mu      sync.Mutex // guards all below
	seasons map[seasonKey]*seasonRows
	rows    int
}

type seasonRows struct {
	read   time.Time
	rows   int
	shards []staircase
	outrun []time.Time // by shard: when it last showed that it has changed since its newest reading
}

// staircase are readings of one shard, each newer and less deep than the one before.
type staircase []knownRows

// knownRows are a shard's first rows at one moment.
type knownRows struct {
	asOf    time.Time
	members int64
	changed rankcore.Position
	list    []rankcore.Entry
	reach   int64 // every row with a key up to here is in the list
}

// known are the rows that a run has of a shard.
func (r *run) known(s *slice, asOf time.Time) knownRows {
	k := knownRows{asOf, s.members, s.changed, s.forth.list, r.last}
	if n := len(k.list); !s.forth.all && n > 0 {
		k.reach = r.order.Key(k.list[n-1].Score) - 1 // the rest of its tie may be missing
	}
	return k
}

// keep remembers what shards answered to a run for their first rows that was begun at asOf.
func (l *lastRows) keep(r *run, asOf time.Time) {
	key, shards := seasonKey{r.board.ID, r.season}, r.slices
	l.mu.Lock()
	defer l.mu.Unlock()
	season := l.seasons[key]
	if season == nil {
		season = &seasonRows{shards: make([]staircase, len(shards)), outrun: make([]time.Time, len(shards))}
		l.seasons[key] = season
	}
	season.read = asOf
	for shard := range shards {
		if s := &shards[shard]; !s.lastKnown {
			k := r.known(s, asOf)
			season.rows += season.shards[shard].add(k)
			season.saw(shard, k.changed, asOf)
		}
	}
	l.rows = 0
	for _, s := range l.seasons {
		l.rows += s.rows
	}
	for l.rows > mostLastRows && len(l.seasons) > 1 {
		l.forgetOldest(key)
	}
}

// forgetOldest forgets the season that was not read for longest, but not the one of key. It needs mu.
func (l *lastRows) forgetOldest(key seasonKey) {
	var oldest seasonKey
	for k, s := range l.seasons {
		if k != key && (oldest == (seasonKey{}) || s.read.Before(l.seasons[oldest].read)) {
			oldest = k
		}
	}
	l.rows -= l.seasons[oldest].rows
	delete(l.seasons, oldest)
}

// add puts a reading on the stairs and returns how many rows more there are. One that is older than what is there came
// late and is left out.
func (s *staircase) add(k knownRows) (more int) {
	if n := len(*s); n > 0 && (*s)[n-1].asOf.After(k.asOf) {
		return 0
	}
	*s = slices.DeleteFunc(*s, func(old knownRows) bool {
		covered := old.reach <= k.reach
		if covered {
			more -= len(old.list)
		}
		return covered
	})
	if n := len(*s); n == mostLastSteps {
		more -= len((*s)[n-1].list)
		*s = (*s)[:n-1]
	}
	*s = append(*s, k)
	return more + len(k.list)
}

// saw takes note of which message a shard showed to be the last that changed it.
func (l *lastRows) saw(key seasonKey, shard int, changed rankcore.Position, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if season := l.seasons[key]; season != nil {
		season.saw(shard, changed, now)
	}
}

// saw needs mu.
func (s *seasonRows) saw(shard int, changed rankcore.Position, now time.Time) {
	stairs := s.shards[shard]
	switch n := len(stairs); {
	case n == 0:
	case stairs[n-1].changed == changed:
		s.outrun[shard] = time.Time{}
	case now.After(s.outrun[shard]):
		s.outrun[shard] = now
	}
}

// last is the newest reading of a shard that has n rows behind a gap or every row up to a key, else the one that reaches
// farthest; nil when there is none that reaches the gap, or when the shard had changed long before it was last heard.
func (l *lastRows) last(key seasonKey, shard int, a *about, n int, upTo int64) *knownRows {
	l.mu.Lock()
	defer l.mu.Unlock()
	season := l.seasons[key]
	if season == nil {
		return nil
	}
	var farthest *knownRows
	stairs := season.shards[shard]
	for _, k := range slices.Backward(stairs) {
		outrun, newest := season.outrun[shard], stairs[len(stairs)-1]
		if outrun.IsZero() && k.changed != newest.changed {
			outrun = newest.asOf
		}
		if k.reach < a.gap.Key || outrun.Sub(k.asOf) > standInLag {
			continue
		}
		farthest = &k
		if len(k.list)-k.before(a) >= n || k.reach >= upTo {
			break
		}
	}
	return farthest
}

// before is how many of the rows stand before the gap.
func (k *knownRows) before(a *about) int {
	n, _ := slices.BinarySearchFunc(k.list, true, func(e rankcore.Entry, _ bool) int {
		if a.precedes(e) {
			return 1
		}
		return -1
	})
	return n
}

// slice is what a shard has about a gap, as far as the rows reach. Rows beyond the last key are not wanted of others.
func (k *knownRows) slice(a *about) slice {
	s := slice{reading: reading{members: k.members, changed: k.changed}, lastKnown: true}
	n := k.before(a)
	s.before = int64(n)
	for _, e := range k.list[:n] {
		if a.order.Key(e.Score) < a.gap.Key {
			s.better++
		}
	}
	back := slices.Clone(k.list[:n])
	slices.Reverse(back)
	forth := k.list[n:]
	for len(forth) > 0 && a.order.Key(forth[len(forth)-1].Score) > a.last {
		forth = forth[:len(forth)-1]
	}
	s.back, s.forth = rows{back, true}, rows{forth, true}
	return s
}
