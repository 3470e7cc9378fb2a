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
	return c.readPage(ctx, q.Board, path)
}

// Rank reads a user's standing over HTTP. Version is not read.
func (c *Client) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	path := fmt.Sprintf("/v1/boards/%s/users/%s/rank?season=%s&precision=%v",
		q.Board.ID, url.PathEscape(string(q.User)), url.QueryEscape(string(q.Season)), q.Precision)
	var got struct {
		metaAnswer
		standingAnswer
	}
	if err := c.read(ctx, path, &got); err != nil {
		return nil, err
	}
	return got.standing(got.meta(), q.Board.Scale)
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
	return c.ask(ctx, "GET", path, nil, v)
}

func (c *Client) ask(ctx context.Context, method, path string, body []byte, v any) error {
	a, err := c.call(ctx, method, path, body)
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
