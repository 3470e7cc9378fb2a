package gateway

import (
	"strings"
	"testing"
)

const shop, blog = "https://shop.example", "https://blog.example"

// wantCORS checks the headers for other origins: allowed is what Access-Control-Allow-Origin has to be.
func (r reply) wantCORS(allowed, credentials string) reply {
	r.t.Helper()
	h := r.header
	if got := h.Get("Access-Control-Allow-Origin"); got != allowed {
		r.t.Errorf("allowed origin %q, want %q", got, allowed)
	}
	if got := h.Get("Access-Control-Allow-Credentials"); got != credentials {
		r.t.Errorf("credentials %q, want %q", got, credentials)
	}
	exposed := h.Get("Access-Control-Expose-Headers")
	for _, name := range []string{"ETag", "RateLimit", "RateLimit-Policy", "Retry-After", "Cache-Status", "Age"} {
		if strings.Contains(exposed, name) != (allowed != "") {
			r.t.Errorf("exposed %q, want %s: %v", exposed, name, allowed != "")
		}
	}
	return r
}

// varies reports whether an answer says that it depends on a request header.
func (r reply) varies(name string) bool {
	for _, line := range r.header.Values("Vary") {
		for one := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), name) {
				return true
			}
		}
	}
	return false
}

func (e *edge) preflight(path, origin, method string) reply {
	e.t.Helper()
	return e.call("OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", method, "Access-Control-Request-Headers", "content-type")
}

func TestNoOtherOrigins(t *testing.T) {
	e := newEdge(t, nil)
	if r := e.get(powerTop, "Origin", shop).want(200).wantCORS("", ""); r.varies("Origin") {
		t.Error("it varies by origin, though nothing does")
	}
	e.preflight(powerTop, shop, "GET").problem(wrongMethod).wantCORS("", "")
}

// Origins are compared to the letter. What depends on them says so, for every origin and for none, errors and
// 304 too: else a cache gives the answer for one to another.
func TestNamedOrigins(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Origins = []string{shop, "http://localhost:3000"} })
	tag := e.get(powerTop).want(200).header.Get("Etag")
	for origin, allowed := range map[string]string{
		shop: shop, "http://localhost:3000": "http://localhost:3000",
		"": "", blog: "", "null": "", shop + ".evil.example": "", "http://shop.example": "", shop + ":443": "",
		"https://SHOP.example": "", "*": "", shop + ", " + blog: "",
	} {
		credentials := ""
		if allowed != "" {
			credentials = "true"
		}
		for _, r := range []reply{
			e.get(powerTop, "Origin", origin).want(200),
			e.get(powerTop, "Origin", origin, "If-None-Match", tag).want(304),
			e.get("/v1/boards/nothing/top", "Origin", origin).problem(unknownBoard),
			e.get("/nothing", "Origin", origin).problem(notFound),
			e.call("HEAD", powerTop, "", "Origin", origin).want(200),
		} {
			if r.wantCORS(allowed, credentials); !r.varies("Origin") {
				t.Errorf("%q: Vary %q", origin, r.header.Values("Vary"))
			}
		}
		if !e.get(powerTop, "Origin", origin).varies("Accept-Encoding") {
			t.Error("Vary lost Accept-Encoding")
		}
	}
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		r := e.preflight("/v1/boards/power/scores", shop, method).want(204).wantCORS(shop, "true")
		if h := r.header; !strings.Contains(h.Get("Access-Control-Allow-Methods"), method) || h.Get("Access-Control-Max-Age") == "" ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || !r.varies("Access-Control-Request-Method") || r.body != "" {
			t.Errorf("%s: %v %q", method, h, r.body)
		}
	}
	e.preflight(powerTop, blog, "GET").problem(wrongMethod).wantCORS("", "")
	e.call("OPTIONS", powerTop, "", "Origin", shop).problem(wrongMethod).wantCORS(shop, "true") // no preflight
}

// Any origin may read what is public, and neither write nor show who it is.
func TestAnyOrigin(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Origins = []string{AnyOrigin} })
	for _, origin := range []string{shop, "null", ""} {
		if r := e.get(powerTop, "Origin", origin).want(200).wantCORS("*", ""); r.varies("Origin") {
			t.Error("it varies by origin, though nothing does")
		}
	}
	e.get("/nothing", "Origin", shop).problem(notFound).wantCORS("*", "")
	for method, path := range map[string]string{"GET": powerTop, "HEAD": powerTop, "POST": "/v1/boards/power/ranks"} {
		r := e.preflight(path, shop, method).want(204).wantCORS("*", "")
		if h := r.header; strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || strings.Contains(h.Get("Access-Control-Allow-Methods"), "PUT") {
			t.Errorf("%v", h)
		}
	}
	for method, path := range map[string]string{
		"POST": "/v1/boards/power/scores", "PUT": "/v1/boards/power/hidden/a", "DELETE": "/v1/boards/power/users/a",
	} {
		r := e.preflight(path, shop, method).problem(wrongMethod)
		if r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%v", r.header)
		}
	}
}
