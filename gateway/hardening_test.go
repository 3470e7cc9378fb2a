package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// cut checks that the server ends the connection without another answer, and that a client that goes on sending all
// the while does not hold it.
func (r *raw) cut() {
	r.t.Helper()
	if rest, err := io.ReadAll(r.br); len(rest) > 0 || err != nil && !isReset(err) {
		r.t.Errorf("the connection goes on: %q, %v", rest, err)
	}
}

func isReset(err error) bool {
	var network net.Error
	return errors.As(err, &network) && !network.Timeout()
}

// Whoever is slow is cut off: with what it sends, with its next request, and with reading what it asked for.
func TestSlowClients(t *testing.T) {
	e := newEdge(t, nil)
	server := e.App().Server()
	server.ReadTimeout, server.IdleTimeout, server.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	address := e.serve()
	t.Run("nothing", func(t *testing.T) {
		c := dial(t, address)
		c.reply().problem(tooSlow)
		c.closed()
	})
	t.Run("half a header", func(t *testing.T) {
		c := dial(t, address)
		c.send("GET /v1/boards HTTP/1.1\r\nHost: x\r\n")
		c.reply().problem(tooSlow)
		c.closed()
	})
	t.Run("half a body", func(t *testing.T) {
		c := dial(t, address)
		c.send("POST /v1/boards/power/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		c.reply().problem(tooSlow)
		c.closed()
	})
	t.Run("no next request", func(t *testing.T) {
		c := dial(t, address)
		c.get("/livez", "").want(200)
		c.cut()
	})
	t.Run("nothing is read", func(t *testing.T) {
		c := dial(t, address)
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		// Answers of some 100 KB each, until the server has nowhere to put another one.
		request := "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n"
		for {
			c.patient()
			if _, err := io.WriteString(c, request); err != nil {
				if !isReset(err) {
					t.Error(err)
				}
				return
			}
		}
	})
}

// Nothing of a request comes back in an error, wherever it stands in it.
func TestNothingIsEchoed(t *testing.T) {
	address := newEdge(t, nil).serve()
	const mark = "e3c4h0o"
	const json = "Content-Type: application/json\r\n"
	for name, c := range map[string]struct{ head, header, body string }{
		"path":            {"GET /" + mark, "", ""},
		"below a page":    {"GET /page/" + mark, "", ""},
		"board":           {"GET /v1/boards/" + mark + "/top", "", ""},
		"user":            {"GET /v1/boards/power/users/" + mark + "/rank", "", ""},
		"encoded":         {"GET /v1/boards/power/users/%ff" + mark + "/rank", "", ""},
		"parameter":       {"GET " + powerTop + "?" + mark + "=1", "", ""},
		"value":           {"GET " + powerTop + "?limit=" + mark, "", ""},
		"season":          {"GET " + powerTop + "?season=" + mark, "", ""},
		"cursor":          {"GET /v1/boards/power/entries?cursor=" + mark, "", ""},
		"score":           {"GET /v1/boards/power/entries?min_score=" + mark, "", ""},
		"precision":       {"GET /v1/boards/power/users/a/rank?precision=" + mark, "", ""},
		"position":        {"GET " + powerTop, "If-Position-Applied: " + mark + "\r\n", ""},
		"key":             {"GET /v1/boards/power/users/a/rank?precision=exact", "Idempotency-Key: " + strings.Repeat(mark, 50) + "\r\n", ""},
		"method":          {mark + " /v1/boards", "", ""},
		"wrong method":    {"PUT /v1/boards/" + mark, "", ""},
		"host":            {"GET /" + mark, "Host: " + mark + "\r\n", ""},
		"header":          {"GET /v1/boards", mark + " : x\r\n", ""},
		"huge header":     {"GET /v1/boards", "X-" + mark + ": " + strings.Repeat(mark, 2000) + "\r\n", ""},
		"type":            {"POST /v1/boards/power/scores", "Content-Type: text/" + mark + "\r\n", "{}"},
		"body":            {"POST /v1/boards/power/scores", json, mark},
		"field":           {"POST /v1/boards/power/scores", json, `{"` + mark + `":1}`},
		"field of an op":  {"POST /v1/boards/power/scores", json, `{"ops":[{"user":"a","` + mark + `":1}]}`},
		"user of an op":   {"POST /v1/boards/power/scores", json, `{"ops":[{"user":"` + mark + `\u0000","add":1}]}`},
		"score of an op":  {"POST /v1/boards/power/scores", json, `{"ops":[{"user":"a","add":"` + mark + `"}]}`},
		"id of an op":     {"POST /v1/boards/power/scores", json, `{"ops":[{"id":"` + strings.Repeat(mark, 20) + `","user":"a","add":1}]}`},
		"moment of an op": {"POST /v1/boards/power/scores", json, `{"ops":[{"user":"a","add":1,"at":"` + mark + `"}]}`},
		"users":           {"POST /v1/boards/power/ranks", json, `{"users":["` + mark + `\u0000"]}`},
		"huge body":       {"POST /v1/boards/power/ranks", json, strings.Repeat(mark, 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, address).expecting(c.head + " HTTP/1.1\r\nHost: x\r\n" + c.header + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(c.body)) + c.body)
			if c.status < 400 || c.status >= 500 || c.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("status %d, %v", c.status, c.header)
			}
			whole := c.body
			for name, values := range c.header {
				whole += name + strings.Join(values, "")
			}
			if strings.Contains(strings.ToLower(whole), mark) {
				t.Errorf("it comes back: %v %s", c.header, c.body)
			}
			if c.header.Get("Server") != "" || c.header.Get("X-Content-Type-Options") != "nosniff" && c.status != 400 && c.status != 413 && c.status != 431 {
				t.Errorf("%v", c.header)
			}
		})
	}
}

// expecting sends a text and reads the answer to it.
func (r *raw) expecting(text string) reply {
	r.t.Helper()
	r.send(text)
	return r.reply()
}

// What browsers are shown says what may be done with it.
func TestSecurityHeaders(t *testing.T) {
	e := newEdge(t, nil)
	for _, path := range []string{"/", "/docs", "/page/app.js", "/page/style.css", "/openapi.json"} {
		h := e.get(path).want(200).header
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "connect-src 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s: %q", path, part, policy)
			}
		}
		if strings.Contains(policy, "script-src 'self' 'unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// Slow headers on thousands of sockets hold up nobody else, and every one of them is cut off.
func TestManySlowHeaders(t *testing.T) {
	const sockets = 1000
	e := newEdge(t, nil)
	e.App().Server().ReadTimeout = 2 * time.Second
	address := e.serve()
	before := runtime.NumGoroutine()
	var slow []*raw
	for range sockets {
		c := dial(t, address)
		c.send("GET /v1/boards HTTP/1.1\r\nX-Slow: ")
		slow = append(slow, c)
	}
	dial(t, address).get(powerTop, "").want(200)
	for _, c := range slow {
		c.patient()
		c.reply().problem(tooSlow)
	}
	eventually(t, "nothing of them is left", func() bool { return runtime.NumGoroutine() <= before+10 })
}

// Clients that drip, idle or listen for ever do not hold a stop, which says so to those that can still be told.
func TestSlowClientsDoNotHoldAStop(t *testing.T) {
	e := newEdge(t, nil)
	e.App().Server().ReadTimeout = time.Hour // so that it is the stop that ends them
	address, stop, done := e.start(nil)
	defer stop()
	var all []*raw
	for _, text := range []string{
		"", "GET /v1/boards HTTP/1.1\r\nX-Slow: ",
		"POST /v1/boards/power/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"POST /v1/boards/power/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n",
		"GET /v1/boards/power/stream HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		for range 20 {
			c := dial(t, address)
			c.send(text)
			all = append(all, c)
		}
	}
	dial(t, address).get("/livez", "").want(200) // whoever came before is accepted
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i, c := range all {
		c.patient()
		if _, err := io.Copy(io.Discard, c.br); err != nil && !isReset(err) {
			t.Errorf("connection %d goes on: %v", i, err)
		}
	}
}
