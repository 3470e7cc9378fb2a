package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"rankgate/rankcore"
)

var _ rankcore.Reader = (*Client)(nil)

// Top reads rows of a board over HTTP. Version is not read.
func (c *Client) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	path := fmt.Sprintf("/v1/boards/%s/top?season=%s&offset=%d&limit=%d",
		q.Board.ID, url.QueryEscape(string(q.Season)), q.Offset, q.Limit)
	var got struct {
		metaAnswer
		Entries []struct {
			Rank  int64
			User  rankcore.UserID
			Score json.RawMessage
		}
	}
	if err := c.read(ctx, path, &got); err != nil {
		return nil, err
	}
	page := &rankcore.Page{Meta: got.meta(), Entries: make([]rankcore.Entry, len(got.Entries))}
	for i, e := range got.Entries {
		score, err := readScore(e.Score, q.Board.Scale)
		if err != nil {
			return nil, fmt.Errorf("score of entry %d: %w", i, err)
		}
		page.Entries[i] = rankcore.Entry{Rank: e.Rank, User: e.User, Score: score}
	}
	return page, nil
}

// Rank reads a user's standing over HTTP. Version is not read.
func (c *Client) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	path := fmt.Sprintf("/v1/boards/%s/users/%s/rank?season=%s&precision=%v",
		q.Board.ID, url.PathEscape(string(q.User)), url.QueryEscape(string(q.Season)), q.Precision)
	var got struct {
		metaAnswer
		User       rankcore.UserID
		Score      json.RawMessage
		Rank       int64
		Precision  string
		Low        int64 `json:"rank_low"`
		High       int64 `json:"rank_high"`
		Tied       int64
		Percentile float64
	}
	if err := c.read(ctx, path, &got); err != nil {
		return nil, err
	}
	s := &rankcore.Standing{
		Meta: got.meta(), User: got.User, Rank: got.Rank, Low: got.Low, High: got.High, Tied: got.Tied, Percentile: got.Percentile,
	}
	if s.Status == rankcore.Updating {
		return s, nil
	}
	if err := s.Precision.UnmarshalText([]byte(got.Precision)); err != nil {
		return nil, fmt.Errorf("precision: %w", err)
	}
	if s.Precision == rankcore.Exact {
		s.Low, s.High = s.Rank, s.Rank
	}
	var err error
	s.Score, err = readScore(got.Score, q.Board.Scale)
	return s, err
}

// metaAnswer are the fields every answer has.
type metaAnswer struct {
	Season rankcore.SeasonID
	Status rankcore.Status
	Reason rankcore.Reason
	AsOf   time.Time `json:"as_of"`
	Total  int64
}

func (m metaAnswer) meta() rankcore.Meta {
	return rankcore.Meta{Season: m.Season, Status: m.Status, Reason: m.Reason, AsOf: m.AsOf, Total: m.Total}
}

// readScore reads an integer, or on a board with decimals a string.
func readScore(raw json.RawMessage, scale int) (rankcore.Score, error) {
	text := string(raw)
	if scale > 0 {
		text = strings.Trim(text, `"`)
	}
	return rankcore.ParseScore(text, scale)
}

// read asks for path and decodes the answer into v.
func (c *Client) read(ctx context.Context, path string, v any) error {
	a, err := c.call(ctx, "GET", path, nil)
	if err != nil {
		return err
	}
	if a.status != 200 {
		return problemOf(a)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("answer of %s: %w", path, err)
	}
	return nil
}

// Problem is an answer that is not a success, as RFC 9457 tells it.
type Problem struct {
	Status int
	Type   string
	Title  string
	Detail string
}

func (p *Problem) Error() string {
	return fmt.Sprintf("answered %d: %s (%s)", p.Status, p.Title, p.Detail)
}

// problemOf is the error that an answer means.
func problemOf(a answer) error {
	p := &Problem{}
	if json.Unmarshal(a.body, p) != nil {
		p.Title = "not a problem document"
	}
	p.Status = a.status
	if a.status == 404 && strings.HasSuffix(p.Type, "/user-not-ranked") {
		return rankcore.ErrNotRanked
	}
	return p
}
