package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"rankgate/rankcore"
)

// standIns are shards that did not answer a run, and whose last known rows stand in for them: a shard that is left out
// would silently improve everybody else's rank.
type standIns struct {
	allowed bool      // the run takes them
	shards  int       // that did not answer
	why     error     // the first one's
	asOf    time.Time // of the oldest rows
	reach   int64     // no row with a key up to here is missing
}

// standIn puts a shard's last known rows in its place, if they reach the gap. A shard that waited in vain is not asked again.
func (s *Store) standIn(r *run, shard int, why error) bool {
	in := &r.standIns
	if !in.allowed {
		return false
	}
	known := s.lastRows.last(seasonKey{r.board.ID, r.season}, shard, &r.about, r.forth, r.last)
	if known == nil {
		return false
	}
	if in.shards == 0 || known.asOf.Before(in.asOf) {
		in.asOf = known.asOf
	}
	if in.shards == 0 || known.reach < in.reach {
		in.reach = known.reach
	}
	if in.shards == 0 {
		in.why = why
	}
	in.shards++
	r.slices[shard] = known.slice(&r.about)
	return true
}

// enough reports whether the run has its rows, after leaving out those behind which rows of a stand-in may be missing.
func (r *run) enough() bool {
	if in := &r.standIns; in.shards > 0 {
		r.behind = slices.DeleteFunc(r.behind, func(e rankcore.Entry) bool { return r.order.Key(e.Score) > in.reach })
	}
	before, members := r.counts()
	return int64(len(r.behind)) == min(int64(r.wantForth), members-before)
}

// reached reports whether the run, whose rows end at its last key, has those it could have.
func (r *run) reached() bool {
	in := &r.standIns
	return in.shards == 0 || r.enough() || in.reach >= r.last
}

// mark says in m what stood in for whom. An answer is as old as its oldest part.
func (in *standIns) mark(ctx context.Context, m rankcore.Meta) rankcore.Meta {
	if in.shards == 0 {
		return m
	}
	m = partial(ctx, m, in.why)
	if in.asOf.Before(m.AsOf) {
		m.AsOf = in.asOf
	}
	return m
}

// partial is m of an answer a part of which is only known from before, because of why.
func partial(ctx context.Context, m rankcore.Meta, why error) rankcore.Meta {
	m.Status, m.Reason = rankcore.Partial, rankcore.CoreDown
	var known *rankcore.Unavailable
	if errors.As(unavailable(ctx, why), &known) {
		m.Reason = known.Reason
	}
	return m
}
