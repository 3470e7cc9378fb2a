package gateway

import (
	"bytes"
	"errors"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Bounds of a connection.
const (
	maxHeaderBytes = 8 << 10
	writeBuffer    = 8 << 10  // a top of 100 fits, and goes out in one write
	maxBodyBytes   = 16 << 10 // of anything but a write
	maxWriteBytes  = 1 << 20  // of a write
	readTimeout    = 5 * time.Second
	writeTimeout   = 10 * time.Second
	idleTimeout    = 60 * time.Second
	maxConns       = 64 << 10
	idleWorkers    = 2 * time.Second // how long a goroutine whose connection ended waits for another one
)

// newApp returns a Fiber application with every default that lets one thing have two names, or that
// answers in its own words, switched off.
func newApp(g *Gateway) *fiber.App {
	app := fiber.New(fiber.Config{
		CaseSensitive:                true,
		StrictRouting:                true,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true,
		BodyLimit:                    maxBodyBytes,
		ReadBufferSize:               maxHeaderBytes,
		WriteBufferSize:              writeBuffer,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		Concurrency:                  maxConns,
		ErrorHandler: func(c *fiber.Ctx, err error) error {
			g.metrics.unrouted.answered(writeProblem(c.Context(), err))
			return nil
		},
	})
	server := app.Server()
	server.CloseOnShutdown = true
	server.MaxIdleWorkerDuration = idleWorkers
	server.HeaderReceived = bodyLimit
	server.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		lingerOn(ctx.Conn())
		g.metrics.unrouted.answered(writeProblem(ctx, unreadable(err)))
	}
	server.Handler = g.front(server.Handler)
	return app
}

// bodyLimit is asked when a request's header is there and its body is not yet read.
func bodyLimit(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	limit := maxBodyBytes
	if path, _, _ := bytes.Cut(h.RequestURI(), []byte("?")); h.IsPost() && bytes.HasSuffix(path, []byte("/scores")) {
		limit = maxWriteBytes
	}
	if h.ContentLength() > limit {
		// Without this the caller is first told to go on, and only then that it is too much.
		h.Del(fasthttp.HeaderExpect)
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: limit}
}

// front comes before the routes, for what Fiber would answer in its own words.
func (g *Gateway) front(routes fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		noSniff.set(&ctx.Response.Header)
		if g.stopping.Load() {
			ctx.SetConnectionClose() // so that the next request goes elsewhere, and none meets a closed connection
		}
		if err := misframed(&ctx.Request.Header); err != nil {
			ctx.SetConnectionClose()
			g.metrics.unrouted.answered(writeProblem(ctx, err))
			return
		}
		defer g.cors.mark(ctx)
		if g.cors.preflight(ctx) || g.limits.refuses(ctx) {
			return
		}
		switch string(ctx.Method()) {
		case fiber.MethodGet, fiber.MethodHead, fiber.MethodPost, fiber.MethodPut, fiber.MethodDelete:
		default:
			// No route has PATCH, so the answer is 405 with Allow, or 404, for every method there may be.
			ctx.Request.Header.SetMethod(fiber.MethodPatch)
		}
		routes(ctx)
	}
}

// unreadable names why fasthttp could not read a request. The cause itself is not shown: it quotes the request.
func unreadable(err error) error {
	var tooLong *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.As(err, &tooLong):
		return headerTooLarge.because("the header is over 8 KiB")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return bodyTooLarge.because("the limit is 1 MiB for scores, and 16 KiB for everything else")
	case errors.As(err, &network) && network.Timeout():
		return tooSlow.because("the request did not arrive in time")
	}
	return badRequest.because("not a well-formed HTTP/1.1 request")
}
