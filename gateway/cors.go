package gateway

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// AnyOrigin lets pages of every origin read what is public.
const AnyOrigin = "*"

// What pages of other origins may send, and see of an answer.
const (
	corsMethods     = "GET, HEAD, POST, PUT, DELETE"
	corsHeaders     = "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Position-Applied, Last-Event-ID, Prefer"
	corsReadMethods = "GET, HEAD, POST" // POST asks for the ranks of several users
	corsReadHeaders = "Content-Type, Idempotency-Key, If-None-Match, If-Position-Applied, Last-Event-ID, Prefer"
	corsExposed     = "Age, Cache-Status, Date, ETag, RateLimit, RateLimit-Policy, Retry-After"
	corsMaxAge      = "7200" // seconds; no browser keeps an answer for longer
)

// origins are the origins whose pages may ask (CORS, as in the Fetch standard): any, which may read without
// credentials; or those that are named, to the letter, with credentials and writes. Without any there is no such
// header in any answer.
type origins []string

func (o origins) any() bool { return len(o) == 1 && o[0] == AnyOrigin }

// mark adds to an answer which origin may see it. Where that depends on who asks, every answer says so: a cache
// must not give one origin's to another, nor the answer to a request without an origin to anybody with one.
func (o origins) mark(ctx *fasthttp.RequestCtx) {
	if len(o) == 0 {
		return
	}
	h := &ctx.Response.Header
	if o.any() {
		h.Set(fiber.HeaderAccessControlAllowOrigin, AnyOrigin)
		h.Set(fiber.HeaderAccessControlExposeHeaders, corsExposed)
		return
	}
	vary := fiber.HeaderOrigin
	if others := h.Peek(fiber.HeaderVary); len(others) > 0 {
		vary = string(others) + ", " + vary
	}
	h.Set(fiber.HeaderVary, vary)
	if origin := string(ctx.Request.Header.Peek(fiber.HeaderOrigin)); slices.Contains(o, origin) {
		h.Set(fiber.HeaderAccessControlAllowOrigin, origin)
		h.Set(fiber.HeaderAccessControlAllowCredentials, "true")
		h.Set(fiber.HeaderAccessControlExposeHeaders, corsExposed)
	}
}

// preflight answers the question of a browser whether a page may send a request, and reports whether it did. One
// that may not is answered as any other OPTIONS is, and without the headers that would let it.
func (o origins) preflight(ctx *fasthttp.RequestCtx) bool {
	if !ctx.IsOptions() {
		return false
	}
	h := &ctx.Request.Header
	wanted := string(h.Peek(fiber.HeaderAccessControlRequestMethod))
	origin := string(h.Peek(fiber.HeaderOrigin))
	if wanted == "" || origin == "" {
		return false
	}
	methods, headers := corsMethods, corsHeaders
	switch {
	case slices.Contains(o, origin):
	case o.any() && !isWrite(wanted, string(ctx.Path())):
		methods, headers = corsReadMethods, corsReadHeaders
	default:
		return false
	}
	a := &ctx.Response.Header
	a.Set(fiber.HeaderAccessControlAllowMethods, methods)
	a.Set(fiber.HeaderAccessControlAllowHeaders, headers)
	a.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	a.Set(fiber.HeaderVary, fiber.HeaderAccessControlRequestMethod)
	ctx.SetStatusCode(fiber.StatusNoContent)
	return true
}

func isWrite(method, path string) bool {
	return method == fiber.MethodPut || method == fiber.MethodDelete || method == fiber.MethodPost && !strings.HasSuffix(path, "/ranks")
}
