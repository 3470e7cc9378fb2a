package degrade

import "rankgate/rankcore"

// older is what to show in place of the core's answer, which is missing because of why: the last one it gave or the
// snapshot's, whichever is newer, so that as_of does not go back; nil without either. The reason is the core's
// unless only the snapshot could answer. meta is where an answer has its Meta.
func older[T any](g *Guard, last, snapshot *T, meta func(*T) *rankcore.Meta, why rankcore.Reason) *T {
	switch {
	case last == nil && snapshot == nil:
		g.metrics.updating.Inc()
		return nil
	case last == nil:
		last, why = snapshot, rankcore.FromSnapshot
	case snapshot != nil && meta(snapshot).AsOf.After(meta(last).AsOf):
		last = snapshot
	}
	if why == rankcore.FromSnapshot {
		g.metrics.snapshot.Inc()
	} else {
		g.metrics.stale.Inc()
	}
	shown := *last // what is remembered is shared
	m := meta(&shown)
	m.Status, m.Reason = rankcore.Stale, why
	return &shown
}

func metaOfPage(p *rankcore.Page) *rankcore.Meta         { return &p.Meta }
func metaOfStanding(s *rankcore.Standing) *rankcore.Meta { return &s.Meta }
func metaOfBatch(b *rankcore.Standings) *rankcore.Meta   { return &b.Meta }
