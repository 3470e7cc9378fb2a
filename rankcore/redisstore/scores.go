package redisstore

import (
	"context"

	"rankgate/rankcore"
)

// ownScore is a user's score as its shard had it at one moment.
type ownScore struct {
	reading
	score   rankcore.Score
	arrival rankcore.Arrival
}

func (s *ownScore) entry(u rankcore.UserID) rankcore.Entry {
	return rankcore.Entry{User: u, Score: s.score, Arrival: s.arrival}
}

// askScores are the commands for the scores of users of one shard. Where ties go by arrival, members have other names, and
// a hash tells what all users have reached; those who are hidden stand in another one too.
func askScores(t rankcore.Ties, keys string, users []rankcore.UserID) [][]any {
	command := func(name, key string) []any {
		list := make([]any, 0, 2+len(users))
		list = append(list, name, keys+key)
		for _, u := range users {
			list = append(list, string(u))
		}
		return list
	}
	switch {
	case len(users) == 0:
		return nil
	case t == rankcore.TiesFirst:
		return [][]any{command("HMGET", ":reached"), command("HMGET", ":aside")}
	}
	return [][]any{command("ZMSCORE", ":main")}
}

// takeScores reads the answers to askScores: where each of the users stands, or nil.
func takeScores(b *rankcore.Board, r reading, users []rankcore.UserID, answers []any) ([]*ownScore, error) {
	list := make([]*ownScore, len(users))
	if len(users) == 0 {
		return list, nil
	}
	scores, _ := answers[0].([]any)
	if len(scores) != len(users) {
		return nil, errShape(answers[0])
	}
	hidden := make([]any, len(users))
	if len(answers) > 1 {
		if hidden, _ = answers[1].([]any); len(hidden) != len(users) {
			return nil, errShape(answers[1])
		}
	}
	for i := range users {
		if scores[i] == nil || hidden[i] != nil {
			continue
		}
		own, key, err := &ownScore{reading: r}, int64(0), error(nil)
		if b.Ties == rankcore.TiesFirst {
			own.arrival, key, err = reachedOf(text(scores[i]))
		} else {
			key, err = keyOf(scores[i])
		}
		if err != nil {
			return nil, err
		}
		own.score, list[i] = b.Order.Score(key), own
	}
	return list, nil
}

// score reads one user's score. It asks nothing but the user's shard, and that for nothing that grows with the board.
func (s *Store) score(ctx context.Context, q rankcore.RankQuery) (*ownScore, error) {
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	users := []rankcore.UserID{q.User}
	list, err := s.readAll(ctx, s.reads, question{name: "score", board: q.Board, season: q.Season, members: firstAnswer, ask: func(_ int, keys string) [][]any {
		return append([][]any{{"ZCARD", keys + ":main"}}, askScores(q.Board.Ties, keys, users)...)
	}}, []int{q.Board.Shard(q.User)})
	if err != nil {
		return nil, err
	}
	own, err := takeScores(q.Board, list[0], users, list[0].answers[1:])
	switch {
	case err != nil:
		return nil, unavailable(ctx, err)
	case own[0] == nil:
		return nil, rankcore.ErrNotRanked
	}
	return own[0], nil
}
