package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"rankgate/gateway/identity"
)

var tokenSecret = []byte("a secret of thirty-two bytes, yes")

func newTokens(t *testing.T) *identity.Tokens {
	t.Helper()
	tokens, err := identity.NewTokens(identity.TokenConfig{Secret: tokenSecret, Issuer: "https://issuer", Audience: "rankgate"})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// token is one that nothing is wrong with but what change does to it, as the value of Authorization.
func token(t *testing.T, subject string, change func(jwt.MapClaims)) string {
	t.Helper()
	c := jwt.MapClaims{"sub": subject, "iss": "https://issuer", "aud": "rankgate", "exp": time.Now().Add(time.Hour).Unix()}
	if change != nil {
		change(c)
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(tokenSecret)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

// With tokens it is the holder who pays, whoever is asked about, and an exact rank needs a good one. What is
// public needs none, and does not look at one.
func TestTheHolderOfATokenPays(t *testing.T) {
	e := newRationed(t, func(c *Config) { c.Auth.Users = UserAuth{Mode: ModeJWT, Tokens: newTokens(t)} })
	for i, user := range []string{"ann", "bob", "b/ob é", "ann", "bob"} {
		e.exact(user, "Authorization", token(t, "cy", nil)).left(4-i).field("user", user)
	}
	e.exact("ann", "Authorization", token(t, "cy", nil)).spent(e, 5, "ann")
	e.exact("ann", "Authorization", token(t, "cy", func(c jwt.MapClaims) { c["jti"] = "another token" })).spent(e, 5, "ann")
	first := e.exact("ann", "Authorization", token(t, "ann", nil), "Idempotency-Key", "k").left(4)
	e.post("power", `{"user":"bob","add":100}`).want(202)
	// Nobody gets another's kept answer.
	if r := e.exact("ann", "Authorization", token(t, "dee", nil), "Idempotency-Key", "k").left(4); r.body == first.body {
		t.Error("the answer that another requester got")
	}
	for name, authorization := range map[string]string{
		"none":           "",
		"no scheme":      strings.TrimPrefix(token(t, "ann", nil), "Bearer "),
		"basic":          "Basic YW5uOnB3",
		"a key":          "Bearer secret-1",
		"expired":        token(t, "ann", func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Second).Unix() }),
		"another issuer": token(t, "ann", func(c jwt.MapClaims) { c["iss"] = "x" }),
		"cut off":        token(t, "ann", nil)[:40],
	} {
		r := e.exact("ann", "Authorization", authorization).problem(unauthorized)
		if r.header.Get("WWW-Authenticate") == "" || r.header.Get("RateLimit") != "" {
			t.Errorf("%s: %v", name, r.header)
		}
		e.get("/v1/boards/power/users/ann/rank", "Authorization", authorization).want(200)
		e.get("/v1/boards/power/top", "Authorization", authorization).want(200)
		e.call("HEAD", "/v1/boards/power/users/ann/rank?precision=exact", "", "Authorization", authorization).want(200)
	}
	e.exact("ann", "Authorization", token(t, "ann", nil)).left(3) // none of it cost anything
}

// An issuer whose keys cannot be read costs exactness, and writes a while.
func TestWithoutTheIssuersKeys(t *testing.T) {
	tokens, err := identity.NewTokens(identity.TokenConfig{JWKSURL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	e := newRationed(t, func(c *Config) { c.Auth.Users = UserAuth{Mode: ModeJWT, Tokens: tokens} })
	e.Gateway.keys = serviceKeys{tokens: tokens}
	const signedByNobody = "Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA"
	if r := e.exact("ann", "Authorization", signedByNobody).want(200).field("rank", "1"); r.header.Get("RateLimit") != "" {
		t.Errorf("rationed: %v", r.header)
	}
	r := e.call("POST", "/v1/boards/power/scores", `{"ops":[{"user":"a","add":1}]}`, "Authorization", signedByNobody).problem(cannotJudge)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestATokenNeedsTheScopeToWrite(t *testing.T) {
	e := newRationed(t, nil)
	e.Gateway.keys = serviceKeys{tokens: newTokens(t)}
	const path, body = "/v1/boards/power/scores", `{"ops":[{"user":"a","add":1}]}`
	scope := func(s any) string { return token(t, "game", func(c jwt.MapClaims) { c["scope"] = s }) }
	e.call("POST", path, body, "Authorization", scope("scores:write")).want(202)
	e.call("POST", path, body, "Authorization", scope("openid scores:write")).want(202)
	for _, wrong := range []any{"", "scores", "scores:write:all", "scores:read", []string{"x"}} {
		e.call("POST", path, body, "Authorization", scope(wrong)).problem(forbidden)
	}
	e.call("POST", path, body, "Authorization", token(t, "game", nil)).problem(forbidden)
	e.call("POST", path, body).problem(unauthorized)
	e.call("POST", path, body, "Authorization", "Bearer x").problem(unauthorized)
}

// A header names the caller only when a proxy that was named sends it, once.
func TestAHeaderCountsFromATrustedProxy(t *testing.T) {
	serve := func(proxy string) string {
		return newRationed(t, func(c *Config) {
			c.Auth.Users = UserAuth{Mode: ModeHeader, Header: "X-User", Proxies: identity.Proxies{netip.MustParsePrefix(proxy)}}
		}).serve()
	}
	ask := func(address, headers string) reply {
		conn := dial(t, address)
		fmt.Fprintf(conn, "GET /v1/boards/power/users/ann/rank?precision=exact HTTP/1.1\r\nHost: x\r\n%s\r\n", headers)
		return conn.reply()
	}
	trusted, foreign := serve("127.0.0.0/8"), serve("10.0.0.0/8")
	for n := 4; n >= 0; n-- {
		ask(trusted, "X-User: cy\r\n").left(n)
	}
	ask(trusted, "x-user: cy\r\nX-Forwarded-For: 6.6.6.6, 10.0.0.1\r\n").problem(exactSpent)
	ask(trusted, "X-User: dee\r\n").left(4)
	for name, headers := range map[string]string{
		"none": "", "empty": "X-User:\r\n", "twice": "X-User: ann\r\nX-User: bob\r\n", "control": "X-User: a\x7f\r\n",
		"long": "X-User: " + strings.Repeat("x", 257) + "\r\n", "another header": "X-Users: ann\r\n",
	} {
		if r := ask(trusted, headers); r.status != 401 && r.status != 400 {
			t.Errorf("%s: status %d %s", name, r.status, r.body)
		}
	}
	for _, spoofed := range []string{
		"X-User: ann\r\n", "X-User: ann\r\nX-Forwarded-For: 10.0.0.1\r\n", "X-User: ann\r\nX-Real-IP: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\n",
	} {
		ask(foreign, spoofed).problem(unauthorized)
	}
}

func TestUserAuthIsChecked(t *testing.T) {
	for _, bad := range []UserAuth{{Mode: "magic"}, {Mode: ModeKeys}, {Mode: ModeJWT}, {Mode: ModeHeader}, {Mode: ModeHeader, Header: "X-User"}} {
		if bad.validate() == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
}
