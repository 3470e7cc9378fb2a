package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"rankgate/rankcore"
)

// Rows reads a page of a walk, or the rows around a user, over HTTP. Version is not read.
func (c *Client) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	path := fmt.Sprintf("/v1/boards/%s/entries?limit=%d", q.Board.ID, q.Limit)
	if q.Around != "" {
		path = fmt.Sprintf("/v1/boards/%s/users/%s/around?season=%s&limit=%d",
			q.Board.ID, url.PathEscape(string(q.Around)), url.QueryEscape(string(q.Season)), q.Limit)
	} else {
		path += "&cursor=" + rankcore.Cursor{Season: q.Season, Within: q.Within, After: q.After}.Encode(q.Board)
	}
	return c.readPage(ctx, q.Board, path)
}

// readPage reads an answer with rows.
func (c *Client) readPage(ctx context.Context, b *rankcore.Board, path string) (*rankcore.Page, error) {
	var got struct {
		metaAnswer
		Entries []struct {
			Rank  int64
			User  rankcore.UserID
			Score json.RawMessage
		}
		Next string `json:"next_cursor"`
	}
	if err := c.read(ctx, path, &got); err != nil {
		return nil, err
	}
	page := &rankcore.Page{Meta: got.meta(), Entries: make([]rankcore.Entry, len(got.Entries)), More: got.Next != ""}
	for i, e := range got.Entries {
		score, err := readScore(e.Score, b.Scale)
		if err != nil {
			return nil, fmt.Errorf("score of entry %d: %w", i, err)
		}
		page.Entries[i] = rankcore.Entry{Rank: e.Rank, User: e.User, Score: score}
	}
	if n := len(page.Entries); page.More && n > 0 { // where the walk goes on is told by the cursor alone
		next, err := rankcore.ParseCursor(b, got.Next)
		if err != nil {
			return nil, fmt.Errorf("next_cursor: %w", err)
		}
		page.Entries[n-1].Arrival = next.After.Arrival
	}
	return page, nil
}

// Ranks reads where several users stand over HTTP. Version is not read.
func (c *Client) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	body, err := json.Marshal(struct {
		Users []rankcore.UserID `json:"users"`
	}{q.Users})
	if err != nil {
		return nil, err
	}
	var got struct {
		metaAnswer
		Ranks []struct {
			standingAnswer
			Rank   *int64
			Status rankcore.Status
		}
	}
	path := fmt.Sprintf("/v1/boards/%s/ranks?season=%s", q.Board.ID, url.QueryEscape(string(q.Season)))
	if err := c.ask(ctx, "POST", path, body, &got); err != nil {
		return nil, err
	}
	batch := &rankcore.Standings{Meta: got.meta(), Users: make([]*rankcore.Standing, len(got.Ranks))}
	for i, r := range got.Ranks {
		if r.Status == rankcore.Updating {
			batch.Users[i] = rankcore.Unknown(r.User, q.Season, batch.Reason)
			continue
		}
		if r.Rank == nil {
			continue
		}
		r.standingAnswer.Rank = *r.Rank
		if batch.Users[i], err = r.standing(batch.Meta, q.Board.Scale); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// standingAnswer are the fields that tell where a user stands.
type standingAnswer struct {
	User       rankcore.UserID
	Score      json.RawMessage
	Rank       int64
	Precision  string
	Low        int64 `json:"rank_low"`
	High       int64 `json:"rank_high"`
	Tied       int64
	Percentile float64
}

func (a *standingAnswer) standing(m rankcore.Meta, scale int) (*rankcore.Standing, error) {
	s := &rankcore.Standing{Meta: m, User: a.User, Rank: a.Rank, Low: a.Low, High: a.High, Tied: a.Tied, Percentile: a.Percentile}
	if s.Status == rankcore.Updating {
		return s, nil
	}
	if err := s.Precision.UnmarshalText([]byte(a.Precision)); err != nil {
		return nil, fmt.Errorf("precision: %w", err)
	}
	if s.Precision == rankcore.Exact {
		s.Low, s.High = s.Rank, s.Rank
	}
	var err error
	s.Score, err = readScore(a.Score, scale)
	return s, err
}
