package cachetier

import (
	"time"

	"rankgate/rankcore"
)

// Floor makes sure that after it returned nothing older is served for the board: nothing whose load began earlier, and
// no last answer or snapshot from before, even when the source has nothing else to give.
func (t *Tier) Floor(board rankcore.BoardID) {
	b, now := t.stamps(board), time.Now().UnixNano()
	b.floor.Store(now)
	b.forgot.Store(now)
	raise(&b.all, t.clock.Add(1))
	t.metrics.floors.Inc()
}

// above is m, or says "updating" if what it is about was true before the board's floor. A fresh answer was loaded after
// the floor, or is never served: estimates in it may come from counts that are a little older, and say so.
func (t *Tier) above(board rankcore.BoardID, m rankcore.Meta) (above rankcore.Meta, ok bool) {
	floor := t.stamps(board).floor.Load()
	if m.Status == rankcore.Fresh || m.Status == rankcore.Updating || m.AsOf.UnixNano() >= floor {
		return m, true
	}
	return rankcore.Meta{Season: m.Season, Status: rankcore.Updating, Reason: m.Reason, AsOf: time.Now(), Origin: m.Origin}, false
}

func (t *Tier) pageAbove(board rankcore.BoardID, p *rankcore.Page) *rankcore.Page {
	if m, ok := t.above(board, p.Meta); !ok {
		return &rankcore.Page{Meta: m}
	}
	return p
}

func (t *Tier) standingAbove(board rankcore.BoardID, s *rankcore.Standing) *rankcore.Standing {
	if m, ok := t.above(board, s.Meta); !ok {
		return &rankcore.Standing{Meta: m, User: s.User}
	}
	return s
}

func (t *Tier) batchAbove(board rankcore.BoardID, b *rankcore.Standings) *rankcore.Standings {
	if m, ok := t.above(board, b.Meta); !ok {
		return &rankcore.Standings{Meta: m}
	}
	return b
}
