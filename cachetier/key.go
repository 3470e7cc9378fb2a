package cachetier

import (
	"context"
	"errors"
	"strings"

	"rankgate/rankcore"
)

// key holds everything that changes an answer. A page has no user.
type key struct {
	board         rankcore.BoardID
	season        rankcore.SeasonID
	user          rankcore.UserID
	precision     rankcore.Precision
	offset, limit int
}

// ask is a question: its key, and the board's definition, which the key stands for.
type ask struct {
	board *rankcore.Board
	key   key
}

func askTop(q rankcore.TopQuery) ask {
	return ask{q.Board, key{board: q.Board.ID, season: q.Season, offset: q.Offset, limit: q.Limit}}
}

func askRank(q rankcore.RankQuery) ask {
	return ask{q.Board, key{board: q.Board.ID, season: q.Season, user: q.User, precision: q.Precision}}
}

// exact reports whether the answer must be read after the question was asked.
func (a ask) exact() bool { return a.key.precision == rankcore.Exact }

// owned is the same question with strings of its own: a cached key outlives the request its user id may be a part of.
func (a ask) owned() ask {
	a.key.user = rankcore.UserID(strings.Clone(string(a.key.user)))
	return a
}

// of asks source. That the user is not ranked is an answer too.
func (a ask) of(ctx context.Context, source rankcore.Reader) (*rankcore.Page, *rankcore.Standing, error) {
	if a.key.user == "" {
		page, err := source.Top(ctx, rankcore.TopQuery{Board: a.board, Season: a.key.season, Offset: a.key.offset, Limit: a.key.limit})
		return page, nil, err
	}
	standing, err := source.Rank(ctx, rankcore.RankQuery{
		Board: a.board, Season: a.key.season, User: a.key.user, Precision: a.key.precision,
	})
	if errors.Is(err, rankcore.ErrNotRanked) {
		return nil, nil, nil
	}
	return nil, standing, err
}
