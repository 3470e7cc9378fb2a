package cachetier

import (
	"context"
	"errors"
	"strings"
	"time"

	"rankgate/rankcore"
)

// key holds everything that changes an answer that is kept. The top has no user, and a standing no limit.
type key struct {
	board         *rankcore.Board
	season        rankcore.SeasonID
	user          rankcore.UserID
	precision     rankcore.Precision
	offset, limit int
}

// ask is a question: its key, what tells which loads are too early to answer it, and since when its answer may have
// been loaded.
type ask struct {
	key    key
	stamps *boardStamps
	since  time.Time
}

// ask is the question with this key. From here on evictions of the board leave a stamp.
func (t *Tier) ask(k key, since time.Time) ask { return ask{k, t.stamps(k.board.ID), since} }

func (t *Tier) askTop(q rankcore.TopQuery) ask {
	return t.ask(key{board: q.Board, season: q.Season, offset: q.Offset, limit: q.Limit}, q.Since)
}

func (t *Tier) askRank(q rankcore.RankQuery) ask {
	return t.ask(key{board: q.Board, season: q.Season, user: q.User, precision: q.Precision}, q.Since)
}

func (t *Tier) askAround(q rankcore.RowsQuery) ask {
	return t.ask(key{board: q.Board, season: q.Season, user: q.Around, limit: q.Limit}, q.Since)
}

// kind is what the question is, for the metrics.
func (a ask) kind() kind {
	switch {
	case a.key.user == "":
		return kindTop
	case a.key.limit > 0:
		return kindAround
	}
	return kindRank
}

// exact reports whether the answer must be read after the question was asked.
func (a ask) exact() bool { return a.key.precision == rankcore.Exact }

// owned is the same question for whoever comes, with strings of its own: a cached key outlives the request its user id
// may be a part of.
func (a ask) owned() ask {
	a.since = time.Time{}
	a.key.user = rankcore.UserID(strings.Clone(string(a.key.user)))
	return a
}

// of asks source. That the user is not ranked is an answer too.
func (a ask) of(ctx context.Context, source rankcore.Reader) (page *rankcore.Page, standing *rankcore.Standing, err error) {
	k := a.key
	switch a.kind() {
	case kindTop:
		page, err = source.Top(ctx, rankcore.TopQuery{Board: k.board, Season: k.season, Offset: k.offset, Limit: k.limit, Since: a.since})
	case kindAround:
		page, err = source.Rows(ctx, rankcore.RowsQuery{Board: k.board, Season: k.season, Around: k.user, Limit: k.limit})
	default:
		standing, err = source.Rank(ctx, rankcore.RankQuery{Board: k.board, Season: k.season, User: k.user, Precision: k.precision})
	}
	if k.user != "" && errors.Is(err, rankcore.ErrNotRanked) {
		return nil, nil, nil
	}
	return page, standing, err
}
