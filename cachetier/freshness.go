package cachetier

import (
	"time"

	"rankgate/rankcore"
)

// doubt is why an answer that its source called fresh must not be called so, or empty. An answer that is
// not fresh has its reason already, and is never made better.
func (t *Tier) doubt(m *rankcore.Meta, b *rankcore.Board, now time.Time) rankcore.Reason {
	if m.Status != rankcore.Fresh {
		return ""
	}
	return t.trust(b, now)
}

// trust is why the shards of a board cannot be known to be current, or empty.
func (t *Tier) trust(b *rankcore.Board, now time.Time) rankcore.Reason {
	p, heard, ok := t.progress.Progress(b.ID)
	return judge(p, heard, ok, b.Freshness, now)
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
