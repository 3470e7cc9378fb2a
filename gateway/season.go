package gateway

import (
	"errors"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

// calendar is a board with its running seasons, each computed when it is first asked for. Safe for concurrent use.
type calendar struct {
	board   *rankcore.Board
	usual   rankcore.SeasonKind                                 // what is meant by none
	running [rankcore.Month + 1]atomic.Pointer[rankcore.Season] // by kind
}

func newCalendar(b *rankcore.Board) *calendar {
	k := &calendar{board: b, usual: b.Seasons[0]}
	if b.Has(rankcore.All) {
		k.usual = rankcore.All
	}
	return k
}

// season is the season that name asks for at now. name may be a view into the request.
func (k *calendar) season(name string, now time.Time) (rankcore.SeasonID, error) {
	for _, kind := range k.board.Seasons {
		if kind.String() == name || name == "" && kind == k.usual {
			return k.current(kind, now), nil
		}
	}
	s, err := k.board.ParseSeason(name, now)
	if err != nil && !errors.Is(err, rankcore.ErrNoSeason) {
		err = badRequest.because(err.Error())
	}
	return s.ID, err
}

func (k *calendar) current(kind rankcore.SeasonKind, now time.Time) rankcore.SeasonID {
	known := k.running[kind].Load()
	if known != nil && (kind == rankcore.All || !now.Before(known.Start) && now.Before(known.End)) {
		return known.ID
	}
	s := k.board.SeasonAt(kind, now)
	k.running[kind].Store(&s)
	return s.ID
}
