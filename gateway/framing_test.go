package gateway

import (
	"net/netip"
	"testing"

	"rankgate/gateway/identity"
)

// A proxy in front removes from a header what only it may say, and adds its own at the end. What a client sends behind its
// body passes by that, so it names nobody: neither who asks nor where from.
func TestATrailerSaysNothing(t *testing.T) {
	e := newRationed(t, func(c *Config) {
		c.Auth.Users = UserAuth{Mode: ModeHeader, Header: "X-User", Proxies: identity.Proxies{netip.MustParsePrefix("127.0.0.0/8")}}
		c.Limits.PerAddressRPS = 1
	}).frozen(1)
	address := e.serve()
	const chunked, end = "Transfer-Encoding: chunked\r\n", "0\r\n"
	ask := func(header, body string) reply {
		t.Helper()
		return dial(t, address).expecting("GET /v1/boards/power/users/ann/rank?precision=exact HTTP/1.1\r\nHost: x\r\n" + header + "\r\n" + body)
	}
	for _, announced := range []string{"", "Trailer: X-User\r\n", "Trailer: X-Forwarded-For\r\n"} {
		for _, spoofed := range []string{"X-User: ann\r\n", "X-Forwarded-For: 192.0.2.7\r\n", "X-User: ann\r\nX-Forwarded-For: 192.0.2.8\r\n"} {
			ask("X-Forwarded-For: 192.0.2.1\r\n"+chunked+announced, end+spoofed+"\r\n").problem(badRequest)
		}
	}
	// Without one, chunks are a body like any other, and an announcement of nothing changes nothing.
	ask("X-User: cy\r\nX-Forwarded-For: 192.0.2.1\r\n"+chunked, end+"\r\n").left(4)
	ask("X-User: cy\r\nX-Forwarded-For: 192.0.2.1\r\nTrailer: X-User\r\n"+chunked, end+"\r\n").left(3)
	ask("X-User: cy\r\nX-Forwarded-For: 192.0.2.1\r\n", "").problem(tooManyRequests)
}
