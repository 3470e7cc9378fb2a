package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

func openAPI(t *testing.T, e *edge) (*openapi3.T, routers.Router) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(e.get("/openapi.json").want(200).body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

// The document says what there is: every route of the table, and no other.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Ops, c.Gatherer = true, prometheus.NewRegistry() })
	doc, _ := openAPI(t, e)
	said := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			said[method+" "+path] = true
		}
	}
	for _, r := range e.App().GetRoutes() {
		path := strings.NewReplacer(":board", "{board}", ":user", "{user}").Replace(r.Path)
		if r.Method == fiber.MethodHead || path == "/" || path == "/openapi.json" || strings.HasPrefix(path, "/page/") || strings.HasPrefix(path, "/docs") {
			continue
		}
		if name := r.Method + " " + path; !said[name] {
			t.Errorf("%s is not in the document", name)
		} else {
			delete(said, name)
		}
	}
	if len(said) > 0 {
		t.Errorf("not served: %v", said)
	}
}

// Real answers are what the document says, in every state that an answer has.
func TestAnswersAreAsInOpenAPI(t *testing.T) {
	e := newEdge(t, nil)
	_, router := openAPI(t, e)
	e.post("power", `{"user":"a b","add":9},{"user":"b","add":7}`).want(202)
	e.post("coins", `{"user":"a","set":"12.30"}`).want(202)
	reads := []string{
		"GET /v1/boards", "GET /v1/boards/power", "GET /v1/boards/coins?season=week", "GET /v1/boards/power/top?limit=1&offset=1",
		"GET /v1/boards/coins/top", "GET /v1/boards/laps/top", "GET /v1/boards/power/users/a%20b/rank",
		"GET /v1/boards/power/users/b/rank?precision=approx", "GET /v1/boards/coins/users/a/rank", "GET /livez", "GET /readyz",
		"GET /v1/boards/power/users/nobody/rank", "GET /v1/boards/nothing/top",
		"GET /v1/boards/power/users/b/around?limit=1", "GET /v1/boards/coins/users/a/around", "GET /v1/boards/power/users/nobody/around",
		"GET /v1/boards/power/entries", "GET /v1/boards/power/entries?limit=1", "GET /v1/boards/coins/entries?min_score=-0.5&max_score=12.3",
		"GET /v1/boards/power/entries?cursor=x",
	}
	states := map[string]func(){
		"fresh": func() {},
		"stale": func() {
			e.core.page = func(p *rankcore.Page) { p.Status, p.Reason = rankcore.Stale, rankcore.CoreSlow }
			e.core.rank = func(s *rankcore.Standing) { s.Status, s.Reason = rankcore.Partial, rankcore.ShardRebuilding }
		},
		"some unknown": func() {
			e.core.rank = func(s *rankcore.Standing) {
				if s.User == "a b" {
					*s = *rankcore.Unknown(s.User, s.Season, rankcore.CoreDown)
				}
			}
		},
		"updating": func() { e.down = unavailable(rankcore.CoreDown) },
	}
	for name, enter := range states {
		enter()
		for _, r := range reads {
			asIn(t, e, router, name+" "+r, r, "")
		}
		asIn(t, e, router, name+" ranks", "POST /v1/boards/power/ranks", `{"users":["a b","nobody","b","b"]}`)
		asIn(t, e, router, name+" ranks with decimals", "POST /v1/boards/coins/ranks?season=day", `{"users":["a"]}`)
		e.down, e.core.page, e.core.rank = nil, nil, nil
	}
	for _, body := range []string{
		`{"ops":[{"id":"1","user":"a","add":5},{"user":"b","set":"7"},{"user":"m","remove":true},{"user":"a","hide":true}]}`,
		`{"ops":[{"id":"1","user":"a","add":5},{"id":"2","user":"b","add":1,"at":"2026-11-30T11:59:58Z"}]}`,
	} {
		asIn(t, e, router, body, "POST /v1/boards/power/scores", body)
		asIn(t, e, router, body, "POST /v1/boards/power/scores?wait=applied", body)
	}
	for _, r := range []string{"DELETE /v1/boards/power/users/a%20b", "PUT /v1/boards/power/hidden/b", "DELETE /v1/boards/power/hidden/b?wait=applied"} {
		asIn(t, e, router, r, r, "")
	}
	e.Gateway.cfg.Quota = &Quota{PerDay: 1, Store: newJournal(t, nil)}
	for _, name := range []string{"exact", "spent"} {
		asIn(t, e, router, name, "GET /v1/boards/power/users/b/rank?precision=exact", "")
	}
	e.get("/v1/boards/power/users/b/rank?precision=exact").problem(exactSpent)
	e.Gateway.cfg.Auth.Users = UserAuth{Mode: ModeHeader, Header: "X-User"}
	asIn(t, e, router, "no credential", "GET /v1/boards/power/users/b/rank?precision=exact", "")
	e.down = errTest
	asIn(t, e, router, "log gone", "PUT /v1/boards/power/hidden/b", "")
}

// asIn sends a request and holds it and its answer against the document.
func asIn(t *testing.T, e *edge, router routers.Router, name, request, body string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	asked := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), asked); err != nil {
		t.Errorf("%s: the request: %v", name, err)
	}
	r := e.call(method, path, body)
	answered := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: r.status, Header: r.header,
		Body: io.NopCloser(bytes.NewReader([]byte(r.body))), Options: asked.Options,
	}
	if err := openapi3filter.ValidateResponse(context.Background(), answered); err != nil {
		t.Errorf("%s: the answer %d %s: %v", name, r.status, r.body, err)
	}
	if strings.HasPrefix(name, "fresh") && r.status >= 500 {
		t.Error(fmt.Sprint(name, r.status))
	}
}
