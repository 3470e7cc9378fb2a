package loadtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// ClientConfig says which rankgate to talk to and how.
type ClientConfig struct {
	URL         string        // http://host:port, nothing behind it
	Key         string        // the service key for writes; "" sends none
	Connections int           // at most this many requests at once; 0 is 64
	Timeout     time.Duration // for one request; 0 is 10 s
	AllowRemote bool          // take a target beyond this machine
}

// Client calls one rankgate over HTTP. It never retries: whoever measures must see each failure, and whoever
// writes must decide. It reads as a rankcore.Reader and writes as a Sender. Safe for concurrent use.
type Client struct {
	http    *fasthttp.HostClient
	base    string // scheme://host:port
	key     string
	timeout time.Duration
}

// NewClient returns a client; it fails on a bad or refused target and connects to nothing yet.
func NewClient(cfg ClientConfig) (*Client, error) {
	addr, tls, err := parseTarget(cfg.URL, cfg.AllowRemote)
	if err != nil {
		return nil, err
	}
	c := &Client{base: "http://" + addr, key: cfg.Key, timeout: orDefault(cfg.Timeout, 10*time.Second)}
	if tls {
		c.base = "https://" + addr
	}
	c.http = &fasthttp.HostClient{
		Addr: addr, IsTLS: tls, Name: "rankgate-loadtest",
		MaxConns: orDefault(cfg.Connections, 64),
		// Shorter than servers keep idle connections, so that none is used while the server closes it.
		MaxIdleConnDuration:       time.Second,
		MaxIdemponentCallAttempts: 1,
		RetryIfErr:                func(*fasthttp.Request, int, error) (bool, bool) { return false, false },
		DisablePathNormalizing:    true, // a user id may hold an encoded slash or dots
	}
	return c, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// answer is what came back for a request: the HTTP status, what the gateway's cache did, and the body, the caller's to keep.
type answer struct {
	status int
	cache  string // hit, fwd=miss, fwd=stale
	body   []byte
}

// call sends one request and waits for its answer until ctx's deadline or the client's timeout. A
// cancelled ctx is noticed before the request, not in it.
func (c *Client) call(ctx context.Context, method, path string, body []byte) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(c.base + path)
	request.Header.SetMethod(method)
	if body != nil {
		request.Header.SetContentType("application/json")
		request.SetBodyRaw(body)
		if c.key != "" {
			request.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+c.key)
		}
	}
	deadline := time.Now().Add(c.timeout)
	callers, ok := ctx.Deadline()
	if ok && callers.Before(deadline) {
		deadline = callers
	}
	if err := c.http.DoDeadline(request, response, deadline); err != nil {
		if deadline.Equal(callers) && errors.Is(err, fasthttp.ErrTimeout) {
			err = context.DeadlineExceeded // the caller's haste, not the server's fault
		}
		return answer{}, err
	}
	_, cache, _ := strings.Cut(string(response.Header.Peek("Cache-Status")), "; ")
	return answer{response.StatusCode(), cache, append([]byte(nil), response.Body()...)}, nil
}

func orDefault[T int | time.Duration | string](v, otherwise T) T {
	var none T
	if v == none {
		return otherwise
	}
	return v
}
