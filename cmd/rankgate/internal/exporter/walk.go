// Package exporter reads a whole board from a running rankgate, page by page, and writes it as rows.
//
// It holds one page at a time, so the board may be of any size. It goes on where it stood when the server was
// away. It may import rankgate's remote and nothing else of ours.
package exporter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"rankgate/cmd/rankgate/internal/remote"
)

const (
	pageRows       = 1000
	requestTimeout = 15 * time.Second
	maxPage        = 4 << 20 // bytes: 1000 rows with the longest ids, each byte escaped
	firstWait      = 100 * time.Millisecond
	longestWait    = 5 * time.Second
)

// Options say what is exported.
type Options struct {
	Server   string // such as http://127.0.0.1:8080
	Board    string
	Season   string        // "" for the board's first
	Patience time.Duration // how long one page is tried while the server is away or updating
}

// Row is a member of the board.
type Row struct {
	Rank  int64           `json:"rank"`
	User  string          `json:"user"`
	Score json.RawMessage `json:"score"` // a number, or on a board with a scale a string
}

// Summary is what became of an export.
type Summary struct {
	Rows     int64
	NotFresh int    // pages that the server did not vouch for
	Reason   string // of the last of them
}

// page is one answer of the server.
type page struct {
	Status  string
	Reason  string
	Entries []Row
	Next    string `json:"next_cursor"`
}

// errAgain: the same page may be had later.
var errAgain = errors.New("no page now")

// Walk hands on every row in rank order. A member whose score does not change meanwhile comes once; others may
// come twice or not at all. When it fails, what was handed on stays.
func Walk(ctx context.Context, o Options, each func(Row) error) (Summary, error) {
	board, err := remote.BoardURL(o.Server, o.Board)
	if err != nil {
		return Summary{}, err
	}
	w := walker{http: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}, server: o.Server, board: board}
	defer w.http.CloseIdleConnections()
	query := url.Values{"limit": {strconv.Itoa(pageRows)}}
	if o.Season != "" {
		query.Set("season", o.Season)
	}
	var sum Summary
	for {
		p, err := w.persist(ctx, query, o.Patience)
		if err != nil {
			return sum, err
		}
		if p.Status != "fresh" {
			sum.NotFresh, sum.Reason = sum.NotFresh+1, p.Reason
		}
		for _, row := range p.Entries {
			if err := each(row); err != nil {
				return sum, err
			}
			sum.Rows++
		}
		if p.Next == "" {
			return sum, nil
		}
		query = url.Values{"limit": query["limit"], "cursor": {p.Next}} // it knows its season
	}
}

type walker struct {
	http   *http.Client
	server string
	board  string
}

// persist asks for one page until it is there, waiting longer each time.
func (w *walker) persist(ctx context.Context, query url.Values, patience time.Duration) (*page, error) {
	giveUp := time.Now().Add(patience)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		p, err := w.ask(ctx, query)
		if !errors.Is(err, errAgain) {
			return p, err
		}
		if time.Now().Add(wait).After(giveUp) {
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// ask asks for one page. errAgain in its error means that it may be had later.
func (w *walker) ask(ctx context.Context, query url.Values) (*page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.board+"/entries?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := w.http.Do(req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: no rankgate answers at %s: %w", errAgain, w.server, remote.Cause(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("%w: the answer was cut off: %w", errAgain, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, fmt.Errorf("%w: %w", errAgain, remote.Refusal(resp.StatusCode, body))
	default:
		return nil, remote.Refusal(resp.StatusCode, body)
	}
	var p page
	if err := json.Unmarshal(body, &p); err != nil || p.Status == "" {
		return nil, fmt.Errorf("what answers at %s is not a rankgate", w.server)
	}
	if p.Status == "updating" {
		return nil, fmt.Errorf("%w: the board is updating, because of %s", errAgain, p.Reason)
	}
	return &p, nil
}
