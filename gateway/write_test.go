package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

const applied = "/v1/boards/power/scores?wait=applied"

func TestWrite(t *testing.T) {
	e := newEdge(t, nil)
	r := e.post("power", `{"id":"1","user":"a","add":5},{"user":"b","add":1},{"user":"b","add":1}`).want(202).field("accepted", "3")
	if got := fmt.Sprint(r.json()["position"]); got != "1-1000" {
		t.Errorf("position %s", got)
	}
	if _, has := r.json()["applied"]; has {
		t.Error("a write that does not wait tells what was applied")
	}
	e.get("/v1/boards/power/users/b/rank").want(200).field("score", "2")

	e.call("PUT", "/v1/boards/power/hidden/a", "").want(202).field("accepted", "1")
	e.get("/v1/boards/power/users/a/rank").problem(notRanked)
	e.call("DELETE", "/v1/boards/power/hidden/a", "").want(202)
	e.get("/v1/boards/power/users/a/rank").want(200).field("score", "5")
	e.call("DELETE", "/v1/boards/power/users/a", "").want(202)
	e.get("/v1/boards/power/users/a/rank").problem(notRanked)
	e.call("DELETE", "/v1/boards/power/users/b?wait=applied", "").want(200).field("results", "[applied]")
}

// The results of wait=applied stand in the order of the operations, and tell repetitions apart.
func TestResults(t *testing.T) {
	e := newEdge(t, nil)
	send := func(ops string) reply {
		return e.call("POST", applied, `{"ops":[`+ops+`]}`).want(200).field("applied", "true")
	}
	send(`{"id":"1","user":"a","add":5},{"id":"2","user":"a","add":0},{"user":"b","add":1},{"user":"b","add":1}`).
		field("results", "[applied unchanged applied applied]")
	send(`{"id":"1","user":"a","add":5},{"id":"2","user":"a","add":0},{"id":"1","user":"a","add":6},{"id":"1","user":"b","add":6}`).
		field("results", "[duplicate duplicate conflict applied]")
	send(`{"id":"3","user":"a","add":1},{"id":"3","user":"a","add":1},{"id":"3","user":"a","add":2}`).
		field("results", "[applied duplicate conflict]")
	send(`{"id":"4","user":"a","add":9007199254740991}`).field("results", "[out_of_range]")
	send(`{"id":"4","user":"a","add":9007199254740991}`).field("results", "[duplicate]")
	e.get("/v1/boards/power/users/a/rank").want(200).field("score", "6")
	if e.floors != 5 {
		t.Errorf("the reader was told %d times that nothing older may be served, want 5", e.floors)
	}
}

// await over a fake clock: without sockets, since those do not obey it.
func TestWaitApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, nil)
		b := e.calendars["power"].board
		ops := []rankcore.Op{{ID: "1", User: "a", Value: 1}}
		write := func() ([]rankcore.Outcome, bool, time.Duration) {
			start := time.Now()
			due := e.expect(b, ops)
			receipt, err := e.append(b, ops)
			if err != nil {
				t.Fatal(err)
			}
			outcomes, ok := e.await(b, ops, receipt, due)
			return outcomes, ok, time.Since(start)
		}
		e.held = true
		if outcomes, ok, took := write(); ok || outcomes != nil || took != waitApplied {
			t.Errorf("never applied: %v %v after %v", outcomes, ok, took)
		}
		time.AfterFunc(time.Second, e.release)
		e.held = true
		if outcomes, ok, took := write(); !ok || outcomes[0] != rankcore.Applied || took != time.Second {
			t.Errorf("applied after a second: %v %v after %v", outcomes, ok, took)
		}
		// The memory cannot be asked before: no result could be told, and the caller is not hurried.
		e.down = errTest
		start, due := time.Now(), e.expect(b, ops)
		e.down = nil
		if _, ok := e.await(b, ops, Receipt{}, due); ok || due != nil || time.Since(start) != waitApplied {
			t.Errorf("results without knowing what is repeated: %v after %v", ok, time.Since(start))
		}
		// A stop ends the wait.
		e.held = true
		ops[0].ID = "2"
		time.AfterFunc(time.Second, e.endWaits)
		if _, ok, took := write(); ok || took != time.Second {
			t.Errorf("stopped: %v after %v", ok, took)
		}
	})
}

// The wait that is not met is a 202, not an error.
func TestNotAppliedInTime(t *testing.T) {
	e := newEdge(t, nil)
	e.held = true
	e.endWaits() // as if the five seconds were over
	r := e.call("POST", applied, `{"ops":[{"user":"a","add":1}]}`).want(202).field("applied", "false").field("accepted", "1")
	if _, has := r.json()["results"]; has {
		t.Error("results of what is not applied")
	}
}

func TestLogUnavailable(t *testing.T) {
	e := newEdge(t, nil)
	e.down = errTest
	for _, r := range []reply{
		e.post("power", `{"user":"a","add":1}`),
		e.call("POST", applied, `{"ops":[{"user":"a","add":1}]}`),
		e.call("PUT", "/v1/boards/power/hidden/a", ""),
	} {
		r.problem(logUnavailable)
		if r.header.Get("Retry-After") == "" || strings.Contains(r.body, "redis") {
			t.Errorf("%v %s", r.header, r.body)
		}
	}
}

// What cannot be taken is refused with what is wrong, and changes nothing.
func TestBadWrites(t *testing.T) {
	e := newEdge(t, nil)
	const scores = "/v1/boards/power/scores"
	op := func(op string) string { return `{"ops":[` + op + `]}` }
	badOp := map[string]string{
		"beyond 2^53-1":       `{"user":"a","add":9007199254740992}`,
		"below -(2^53-1)":     `{"user":"a","set":-9007199254740992}`,
		"a fraction":          `{"user":"a","add":1.5}`,
		"an exponent":         `{"user":"a","add":1e3}`,
		"a word":              `{"user":"a","add":"many"}`,
		"hexadecimal":         `{"user":"a","add":"0x10"}`,
		"true":                `{"user":"a","add":true}`,
		"null":                `{"user":"a","add":null}`,
		"an unknown field":    `{"user":"a","add":1,"why":"x"}`,
		"a field twice":       `{"user":"a","add":1,"add":2}`,
		"two kinds":           `{"user":"a","add":1,"set":2}`,
		"no kind":             `{"user":"a"}`,
		"no user":             `{"add":1}`,
		"an empty user":       `{"user":"","add":1}`,
		"a long user":         `{"user":"` + strings.Repeat("x", 257) + `","add":1}`,
		"a user of dots":      `{"user":"..","add":1}`,
		"a control character": `{"user":"a\u0000","add":1}`,
		"an empty id":         `{"id":"","user":"a","add":1}`,
		"a long id":           `{"id":"` + strings.Repeat("x", 65) + `","user":"a","add":1}`,
		"best on add":         `{"user":"a","best":1}`,
		"remove false":        `{"user":"a","remove":false}`,
		"a wrong time":        `{"user":"a","add":1,"at":"yesterday"}`,
		"too far ahead":       `{"user":"a","add":1,"at":"2999-01-01T00:00:00Z"}`,
	}
	for name, bad := range badOp {
		t.Run(name, func(t *testing.T) {
			r := e.call("POST", scores, op(`{"user":"good","add":1},`+bad)).problem(badOps)
			var p problem
			if err := json.Unmarshal([]byte(r.body), &p); err != nil || len(p.Errors) != 1 || p.Errors[0].Index != 1 || p.Errors[0].Detail == "" {
				t.Errorf("errors of %s", r.body)
			}
		})
	}
	badBodies := map[string]string{
		"not JSON":         `{"ops":[`,
		"NaN":              op(`{"user":"a","add":NaN}`),
		"two values":       op(`{"user":"a","add":1}`) + `{}`,
		"an array":         `[]`,
		"no ops":           `{}`,
		"empty ops":        `{"ops":[]}`,
		"an unknown field": `{"ops":[{"user":"a","add":1}],"x":1}`,
		"ops twice":        `{"ops":[{"user":"a","add":1}],"ops":[{"user":"a","add":1}]}`,
		"a version":        `{"v":1,"ops":[{"user":"a","add":1}]}`,
		"a mark":           `{"v":1,"mark":"tick"}`,
		"too many":         op(strings.Repeat(`{"user":"a","add":1},`, 1000) + `{"user":"a","add":1}`),
		"bytes not UTF-8":  op("{\"user\":\"\xff\",\"add\":1}"),
	}
	for name, body := range badBodies {
		t.Run(name, func(t *testing.T) {
			if r := e.call("POST", scores, body).want(400); r.header.Get("Content-Type") != "application/problem+json" {
				t.Error(r.header)
			}
		})
	}
	e.call("POST", scores, "", "Content-Type", "application/json").problem(badBody)
	e.get("/v1/boards/power/top").want(200).field("total", "0").field("version", "none")
}

func TestRefusedRequests(t *testing.T) {
	e := newEdge(t, nil)
	const good = `{"ops":[{"user":"a","add":1}]}`
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		want                     *kind
	}{
		{"form", "POST", "/v1/boards/power/scores", "a[-1]=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, notJSON},
		{"big form index", "POST", "/v1/boards/power/scores", "a.18446744073704=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, notJSON},
		{"multipart", "POST", "/v1/boards/power/scores", good, []string{"Content-Type", "multipart/form-data; boundary=x"}, notJSON},
		{"no type", "POST", "/v1/boards/power/scores", good, []string{"Content-Type", ""}, notJSON},
		{"text", "POST", "/v1/boards/power/scores", good, []string{"Content-Type", "text/json"}, notJSON},
		{"compressed", "POST", "/v1/boards/power/scores", good, []string{"Content-Encoding", "gzip"}, notJSON},
		{"board", "POST", "/v1/boards/nothing/scores", good, nil, unknownBoard},
		{"wait", "POST", "/v1/boards/power/scores?wait=stored", good, nil, badRequest},
		{"unknown parameter", "POST", "/v1/boards/power/scores?wiat=applied", good, nil, badRequest},
		{"limit 0", "GET", "/v1/boards/power/top?limit=0", "", nil, badRequest},
		{"limit -1", "GET", "/v1/boards/power/top?limit=-1", "", nil, badRequest},
		{"limit x", "GET", "/v1/boards/power/top?limit=x", "", nil, badRequest},
		{"limit 1.0", "GET", "/v1/boards/power/top?limit=1.0", "", nil, badRequest},
		{"limit +1", "GET", "/v1/boards/power/top?limit=%2B1", "", nil, badRequest},
		{"limit empty", "GET", "/v1/boards/power/top?limit=", "", nil, badRequest},
		{"limit twice", "GET", "/v1/boards/power/top?limit=1&limit=1", "", nil, badRequest},
		{"limit huge", "GET", "/v1/boards/power/top?limit=99999999999999999999", "", nil, badRequest},
		{"beyond head", "GET", "/v1/boards/power/top?limit=1001", "", nil, badRequest},
		{"beyond head by offset", "GET", "/v1/boards/power/top?limit=1&offset=1000", "", nil, badRequest},
		{"offset at head", "GET", "/v1/boards/power/top?offset=1000", "", nil, badRequest},
		{"overflow", "GET", "/v1/boards/power/top?offset=2147483647&limit=2147483647", "", nil, badRequest},
		{"broken query", "GET", "/v1/boards/power/top?limit=%zz", "", nil, badRequest},
		{"misspelt", "GET", "/v1/boards/power/users/a/rank?presicion=exact", "", nil, badRequest},
		{"precision case", "GET", "/v1/boards/power/users/a/rank?precision=EXACT", "", nil, badRequest},
		{"page", "GET", "/nothing?<script>", "", nil, notFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &edge{e.core, e.Gateway, t}
			r := e.call(c.method, c.path, c.body, c.headers...).problem(c.want)
			if strings.Contains(r.body, "script") {
				t.Errorf("the request is repeated: %s", r.body)
			}
		})
	}
	e.get("/v1/boards/power/top").want(200).field("total", "0")
}

func TestMethods(t *testing.T) {
	e := newEdge(t, nil)
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/v1/boards/power/top", "GET, HEAD"},
		{"GET", "/v1/boards/power/scores", "POST"},
		{"PATCH", "/v1/boards/power/scores", "POST"},
		{"OPTIONS", "/v1/boards", "GET, HEAD"},
		{"BREW", "/v1/boards", "GET, HEAD"},
		{"get", "/v1/boards", "GET, HEAD"},
		{"POST", "/v1/boards/power/hidden/a", "PUT, DELETE"},
		{"GET", "/v1/boards/power/users/a", "DELETE"},
		{"DELETE", "/", "GET, HEAD"},
	} {
		r := e.call(c.method, c.path, "").problem(wrongMethod)
		if got := r.header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow %q, want %q", c.method, c.path, got, c.allow)
		}
	}
	e.call("BREW", "/nothing", "").problem(notFound)
}

func TestServiceKeys(t *testing.T) {
	sum := func(key string) string { s := sha256.Sum256([]byte(key)); return hex.EncodeToString(s[:]) }
	e := newEdge(t, func(c *Config) {
		c.Auth.Service = ServiceAuth{Mode: ModeKeys, Keys: []ServiceKey{{"game", sum("secret-1")}, {"shop", sum("secret-2")}}}
	})
	const path, body = "/v1/boards/power/scores", `{"ops":[{"user":"a","add":1}]}`
	for _, key := range []string{"Bearer secret-1", "Bearer secret-2", "bearer secret-2"} {
		e.call("POST", path, body, "Authorization", key).want(202)
	}
	for _, key := range []string{"", "Bearer", "Bearer ", "Bearer secret-3", "Basic secret-1", "secret-1", "Bearer " + sum("secret-1")} {
		for _, method := range []string{"POST " + path, "DELETE /v1/boards/power/users/a", "PUT /v1/boards/power/hidden/a", "POST /v1/boards/nothing/scores"} {
			verb, where, _ := strings.Cut(method, " ")
			r := e.call(verb, where, body, "Authorization", key).problem(unauthorized)
			if r.header.Get("WWW-Authenticate") == "" || strings.Contains(r.body, "secret") {
				t.Errorf("%v %s", r.header, r.body)
			}
		}
	}
	e.get("/v1/boards/power/users/a/rank").want(http.StatusOK).field("score", "3")
	for _, bad := range []ServiceAuth{
		{Mode: "magic"}, {Mode: ModeKeys}, {Mode: ModeKeys, Keys: []ServiceKey{{"x", "abc"}}}, {Mode: ModeKeys, Keys: []ServiceKey{{"x", strings.Repeat("z", 64)}}},
	} {
		if _, err := newServiceKeys(bad); err == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
}
