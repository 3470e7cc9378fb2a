package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"rankgate/cmd/rankgate/internal/remote"
	"rankgate/rankcore"
)

// requestTimeout bounds one request: a synced batch takes milliseconds, so this is a server that hangs.
const requestTimeout = 15 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// client speaks to one board of a rankgate.
type client struct {
	http  *http.Client
	board string // URL of the board
	key   string
}

func newClient(o SendOptions) (*client, error) {
	board, err := remote.BoardURL(o.Server, o.Board)
	if err != nil {
		return nil, err
	}
	return &client{
		http:  &http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: connections, Proxy: http.ProxyFromEnvironment}},
		board: board,
		key:   o.Key,
	}, nil
}

// do sends one request and returns the status and the body.
func (c *client) do(ctx context.Context, method, target string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

// Board is what an import must know of the board it fills.
type Board struct {
	Order rankcore.Order `json:"order"`
	Scale int            `json:"scale"`
}

// AskBoard asks the server what the board is.
func AskBoard(ctx context.Context, o SendOptions) (Board, error) {
	c, err := newClient(o)
	if err != nil {
		return Board{}, err
	}
	defer c.http.CloseIdleConnections()
	status, body, err := c.do(ctx, http.MethodGet, c.board, nil)
	if err != nil {
		return Board{}, fmt.Errorf("no rankgate answers at %s: %w", o.Server, remote.Cause(err))
	}
	if status != http.StatusOK {
		return Board{}, remote.Refusal(status, body)
	}
	var b Board
	if err := json.Unmarshal(body, &b); err != nil {
		return Board{}, fmt.Errorf("what answers at %s is not a rankgate: %w", o.Server, err)
	}
	return b, nil
}

// errRetry is an answer after which the same request, with the same ids, may succeed.
var errRetry = errors.New("the server asks to try again")

// post sends one batch. errRetry in its error means that nothing is decided.
func (c *client) post(ctx context.Context, body []byte) error {
	status, answer, err := c.do(ctx, http.MethodPost, c.board+"/scores", body)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", errRetry, err)
	case status == http.StatusOK || status == http.StatusAccepted:
		return nil
	case status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		return fmt.Errorf("%w: %w", errRetry, remote.Refusal(status, answer))
	}
	return remote.Refusal(status, answer)
}
