package gateway

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	acceptAgain = 50 * time.Millisecond // after the process had no file left
	maxLeaving  = 64                    // connections that are told why, at one time; further ones are just closed
)

// turnAway closes a connection that nobody serves, and tells why where that costs little: whoever hoards
// connections gets nothing held for them, neither a request read nor, beyond maxLeaving, a goroutine.
func (l *listener) turnAway(c *conn, why *refused) {
	l.limits.g.metrics.turnedAway.Inc()
	select {
	case l.places <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	c.uncount()
	l.leaving.Go(func() {
		defer func() { <-l.places }()
		lingerOn(c)
		if c.SetWriteDeadline(time.Now().Add(lingerFor)) == nil {
			_, _ = c.Write(why.answer)
		}
		_ = c.Close()
	})
}

// refused is a whole answer that no request was read for.
type refused struct{ answer []byte }

var (
	tooManyConns = refusedFor(&refusal{
		&kind{429, "too-many-connections", "There are too many connections from here"},
		"This address has as many as it may have. Use one for many requests.",
	})
	connsInUse = refusedFor(&refusal{&kind{503, "connections-in-use", "There is no connection left"}, ""})
)

func refusedFor(err error) *refused {
	var ctx fasthttp.RequestCtx
	ctx.Init(new(fasthttp.Request), nil, nil)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, retryAfter)
	ctx.Response.SetConnectionClose()
	writeProblem(&ctx, err)
	var out bytes.Buffer
	if _, err := ctx.Response.WriteTo(&out); err != nil { // memory takes everything
		panic(err)
	}
	return &refused{out.Bytes()}
}
