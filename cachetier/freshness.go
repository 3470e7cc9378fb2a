package cachetier

import (
	"time"

	"rankgate/rankcore"
)

// current is the moment up to which the shards have everything the log had, when a load begins at now; or
// doubt is why they cannot be known to be current.
func (t *Tier) current(b *rankcore.Board, now time.Time) (at time.Time, doubt rankcore.Reason) {
	p, heard, ok := t.progress.Progress(b.ID)
	if doubt = judge(p, heard, ok, b.Freshness, now); doubt != "" {
		return now, doubt
	}
	if p.CaughtUp.After(now) {
		return now, ""
	}
	return p.CaughtUp, ""
}

// doubted is the answer's Meta when the shards it came from were not known to be current. An answer that is
// not fresh has its reason already, and is never made better.
func doubted(m rankcore.Meta, doubt rankcore.Reason) rankcore.Meta {
	if m.Status == rankcore.Fresh && doubt != "" {
		m.Status, m.Reason = rankcore.Stale, doubt
	}
	return m
}

// judge: what the shards say is current if their applier was heard of within the bound, had then read the
// whole log within the bound, and has all shards with it. Of what nobody tells, nothing is known.
func judge(p rankcore.Progress, heard time.Time, ok bool, bound time.Duration, now time.Time) rankcore.Reason {
	switch {
	case !ok || now.Sub(heard) > bound:
		return rankcore.LogUnreachable
	case p.ShardsOut > 0:
		return rankcore.ShardRebuilding
	case now.Sub(p.CaughtUp) > bound:
		return rankcore.ApplierBehind
	default:
		return ""
	}
}
