package gateway

import (
	"net/http/pprof"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// profiles puts Go's profiles into the table, but for the command line, which may hold a secret.
func (g *Gateway) profiles() {
	serve := func(path string, h fasthttp.RequestHandler) {
		g.get(path, func(c *fiber.Ctx) error {
			h(c.Context())
			c.Set(fiber.HeaderCacheControl, "no-store")
			return nil
		})
	}
	index := fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Index)
	for _, name := range []string{"", "allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		serve("/debug/pprof/"+name, index)
	}
	serve("/debug/pprof/profile", fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Profile))
	serve("/debug/pprof/symbol", fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Symbol))
	serve("/debug/pprof/trace", fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Trace))
}
