package redisstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"rankgate/rankcore"
)

// run is rows on one or both sides of a gap, gathered from all shards, each seen at one moment.
//
// Users are spread evenly, so a shard holds few of the rows nearest to a gap: each is asked for a little more
// than its share, one round trip for each node. A shard whose last row is still nearer than the last of all may
// hold more of them, and only such shards are asked again, for twice as many. Their second reading replaces the
// first, so each shard's rows are of one moment and the result is always true.
type run struct {
	about  // what shards are asked for
	board  *rankcore.Board
	season rankcore.SeasonID
	name   string // of the question, for the metrics

	wantBack, wantForth int                                  // rows of all shards together
	center              int                                  // if positive: so many rows, as many before the gap as behind it where the ends allow
	edgeOf              func(r *run) (key int64, ok bool)    // below which key members are to be counted, once the rows are known
	besides             func(shard int, keys string) [][]any // more commands, of the same moment; their answers stay in the readings

	standIns       standIns
	slices         []slice          // by shard
	before, behind []rankcore.Entry // the rows found, the nearest to the gap first
	below          int64            // members below the edge
}

// newRun is a run of n rows behind a gap.
func newRun(name string, b *rankcore.Board, season rankcore.SeasonID, g rankcore.Gap, n int) *run {
	return &run{
		about: about{order: b.Order, ties: b.Ties, gap: g, last: rankcore.MaxScore, forth: min(shareOf(n, b.Shards), n)},
		board: b, season: season, name: name, wantForth: n, slices: make([]slice, b.Shards),
	}
}

// shareOf is how many rows to ask each shard for: its even share of n and four standard deviations more, so
// that about one question in a hundred needs a second round.
func shareOf(n, shards int) int {
	share := float64(n) / float64(shards)
	return int(math.Ceil(share + 4*math.Sqrt(share) + 2))
}

// runRounds bounds the rounds of one run: doubling takes ten to the longest page, a tie one, an edge one.
const runRounds = 16

// gather asks the given shards, and then those again that have not told enough, until the run is there.
func (s *Store) gather(ctx context.Context, r *run, ask []int) error {
	for range runRounds {
		if err := s.askSlices(ctx, r, ask); err != nil {
			return unavailable(ctx, err)
		}
		if r.standIns.shards == len(r.slices) {
			return unavailable(ctx, r.standIns.why) // that would be nothing but an older answer
		}
		if ask = r.open(); len(ask) == 0 {
			return nil
		}
	}
	return &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: fmt.Errorf("%d shards of board %s still changed after %d rounds", len(ask), r.board.ID, runRounds)}
}

// askSlices asks each of the shards for its slice, in the way that finds it.
func (s *Store) askSlices(ctx context.Context, r *run, ask []int) error {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	var plain, deep []int
	for _, shard := range ask {
		if r.slices[shard].inTie {
			deep = append(deep, shard)
		} else {
			plain = append(plain, shard)
		}
	}
	for i, a := range s.read(ctx, s.reads, r.question(), plain) {
		err := a.err
		if err == nil {
			r.slices[plain[i]], err = r.take(a.value)
		}
		if err != nil && !s.standIn(r, plain[i], err) {
			return err
		}
	}
	for i, a := range s.deep(ctx, r.board, r.season, r.about, false, deep) {
		if a.err == nil {
			r.slices[deep[i]] = a.value.slice
		} else if !s.standIn(r, deep[i], a.err) {
			return a.err
		}
	}
	return nil
}

func (r *run) question() question {
	return question{name: r.name, board: r.board, season: r.season, members: firstAnswer, ask: func(shard int, keys string) [][]any {
		commands := r.ask(keys + ":main")
		if r.besides != nil {
			commands = append(commands, r.besides(shard, keys)...)
		}
		return commands
	}}
}

// open merges what the shards have told and returns those to be asked again: where the gap is not found yet, or
// else where more of the rows may be, or else where it is not seen how many members are below the edge.
func (r *run) open() []int {
	if shards := r.where(func(s *slice) bool { return s.inTie }); len(shards) > 0 {
		return shards
	}
	r.merge()
	shards := r.where(func(s *slice) bool {
		return s.back.short(r.before, r.wantBack, r.order.Compare, -1) || s.forth.short(r.behind, r.wantForth, r.order.Compare, 1)
	})
	if len(shards) > 0 {
		r.back, r.forth = 2*r.back, 2*r.forth
		return shards
	}
	if r.edgeOf == nil {
		return nil
	}
	key, ok := r.edgeOf(r)
	if !ok {
		return nil
	}
	r.edge, r.below = &key, 0
	return r.where(func(s *slice) bool {
		n, known := s.below(&r.about, key)
		r.below += n
		return !known
	})
}

func (r *run) where(is func(*slice) bool) (shards []int) {
	for shard := range r.slices {
		if is(&r.slices[shard]) {
			shards = append(shards, shard)
		}
	}
	return shards
}

// short reports whether there may be more rows than these among the nearest n, of which found are known.
// toward is the sign of comparing a farther row with a nearer one.
func (r *rows) short(found []rankcore.Entry, n int, compare func(a, b rankcore.Entry) int, toward int) bool {
	if r.all || len(r.list) >= n {
		return false
	}
	return len(found) < n || len(r.list) == 0 || toward*compare(r.list[len(r.list)-1], found[n-1]) < 0
}

func (r *run) merge() {
	if r.center > 0 {
		before, members := r.counts()
		r.wantBack = min(r.center/2, int(before))
		r.wantForth = min(r.center-r.wantBack, int(members-before))
		r.wantBack = min(r.center-r.wantForth, int(before))
	}
	lists := make([][]rankcore.Entry, len(r.slices))
	if r.wantBack > 0 {
		for i := range r.slices {
			lists[i] = r.slices[i].back.list
		}
		r.before = rankcore.MergeBack(r.order, lists, r.wantBack)
	}
	for i := range r.slices {
		lists[i] = r.slices[i].forth.list
	}
	r.behind = rankcore.Merge(r.order, lists, r.wantForth)
}

// counts are how many members stand before the gap, and how many there are.
func (r *run) counts() (before, members int64) {
	for i := range r.slices {
		before += r.slices[i].before
		members += r.slices[i].members
	}
	return before, members
}

// better is how many members have a smaller key than the gap's.
func (r *run) better() (n int64) {
	for i := range r.slices {
		n += r.slices[i].better
	}
	return n
}

// meta sums up the readings, the first of which was begun at asOf.
func (r *run) meta(asOf time.Time) rankcore.Meta {
	readings := make([]reading, len(r.slices))
	for i := range r.slices {
		readings[i] = r.slices[i].reading
	}
	return meta(r.season, asOf, readings)
}
