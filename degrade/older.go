package degrade

import "rankgate/rankcore"

// answered is an answer that can be said again with another Meta.
type answered[T any] interface {
	*T
	With(m rankcore.Meta) *T
}

// older is what to show in place of the core's answer, which is missing because of why: the last one it gave or the
// snapshot's, whichever is newer, so that as_of does not go back; nil without either. The reason is the core's
// unless only the snapshot could answer. meta is where an answer has its Meta.
func older[T any, P answered[T]](g *Guard, last, snapshot P, meta func(P) *rankcore.Meta, why rankcore.Reason) P {
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
	m := *meta(last)
	m.Status, m.Reason = rankcore.Stale, why
	return last.With(m) // what is remembered is shared
}

// settled is what to show where the core gave a partial answer: that, unless the last one or the snapshot is newer than its
// oldest part, so that as_of does not go back.
func settled[T any, P answered[T]](g *Guard, got, last, snapshot P, meta func(P) *rankcore.Meta) P {
	m := meta(got)
	for _, other := range []P{last, snapshot} {
		if other != nil && meta(other).AsOf.After(m.AsOf) {
			return older(g, last, snapshot, meta, m.Reason)
		}
	}
	g.metrics.partial.Inc()
	return got
}

func metaOfPage(p *rankcore.Page) *rankcore.Meta         { return &p.Meta }
func metaOfStanding(s *rankcore.Standing) *rankcore.Meta { return &s.Meta }
func metaOfBatch(b *rankcore.Standings) *rankcore.Meta   { return &b.Meta }
