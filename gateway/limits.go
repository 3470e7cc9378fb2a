package gateway

import (
	"bytes"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rankgate/gateway/address"
)

// Limits say what one address may have; a network of IPv6 is one address. Zero means the default, which does not
// count loopback, nor a trusted proxy that does not tell whom it speaks for. A number counts those too, and -1 nobody.
// Connections are counted for the peer, so that a proxy may have any number; everything else for whom it speaks for.
type Limits struct {
	PerAddressRPS   int // requests in a second, twice as many at once; default 200
	PerAddressConns int // connections; where it is less than 64, also streams; default 512
}

// Defaults of Limits. Many people may stand behind one address, so they are far above what one of them needs.
const (
	defaultRPS   = 200
	defaultConns = 512
)

// limiter holds every address to the limits. Safe for concurrent use.
type limiter struct {
	g               *Gateway
	now             func() time.Time
	rates           *address.Rates  // nil: any number
	conns           *address.Counts // nil: any number
	streams         *address.Counts
	anyRPS, anyConn bool // also of those that the defaults spare
	all             int  // connections, of all addresses together
}

func newLimiter(g *Gateway) *limiter {
	l := &limiter{g: g, now: time.Now, all: maxConns, anyRPS: g.cfg.Limits.PerAddressRPS > 0, anyConn: g.cfg.Limits.PerAddressConns > 0}
	streams := maxStreamsOfOne
	if most := orDefault(g.cfg.Limits.PerAddressConns, defaultConns); most > 0 {
		l.conns = address.NewCounts(most)
		streams = min(streams, most)
	}
	l.streams = address.NewCounts(streams)
	if rps := orDefault(g.cfg.Limits.PerAddressRPS, defaultRPS); rps > 0 {
		l.rates = address.NewRates(rps)
	}
	return l
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// peerOf is the address at the other end of a connection; the zero Addr where there is none.
func peerOf(at net.Addr) netip.Addr {
	peer, ok := at.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return peer.AddrPort().Addr().Unmap().WithZone("")
}

// client is the address that a request came from, over trusted proxies.
func (l *limiter) client(ctx *fasthttp.RequestCtx) netip.Addr {
	peer := peerOf(ctx.RemoteAddr())
	proxies := l.g.cfg.Auth.Users.Proxies
	if !proxies.Trusts(peer) {
		return peer
	}
	var forwarded []string
	for _, line := range ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor) {
		forwarded = append(forwarded, string(line))
	}
	return proxies.Origin(peer, forwarded...)
}

// counts reports whether a limit is about addr at all.
func (l *limiter) counts(addr netip.Addr, all bool) bool {
	return addr.IsValid() && (all || !addr.IsLoopback() && !l.g.cfg.Auth.Users.Proxies.Trusts(addr))
}

// refuses answers a request of an address that asks too often, and reports whether it did. Not counted are the
// questions whether the server is there: those of a balancer may come from where its users seem to be. And a
// service that shows its key goes on.
func (l *limiter) refuses(ctx *fasthttp.RequestCtx) bool {
	if l.rates == nil {
		return false
	}
	client := l.client(ctx)
	if !l.counts(client, l.anyRPS) {
		return false
	}
	path, _, _ := bytes.Cut(ctx.RequestURI(), []byte("?")) // as it was sent: taking it apart costs more than all of this
	switch string(path) {
	case "/livez", "/readyz":
		return false
	}
	wait := l.rates.Take(client, l.now())
	if wait == 0 || l.g.keys.shows(&ctx.Request.Header) {
		return false
	}
	whole := func(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderRetryAfter, whole(wait))
	h.Set("RateLimit-Policy", `"address";q=`+strconv.Itoa(l.rates.Burst())+`;w=`+whole(l.rates.Window()))
	h.Set("RateLimit", `"address";r=0;t=`+whole(wait))
	err := tooManyRequests.because("This address asks too often. Retry-After has the seconds until it may ask again.")
	l.g.metrics.unrouted.answered(writeProblem(ctx, err))
	return true
}

// connects counts a connection of peer, and reports whether it may be. What is counted has to be left.
func (l *limiter) connects(peer netip.Addr) (counted, may bool) {
	if l.conns == nil || !l.counts(peer, l.anyConn) || l.g.cfg.Auth.Users.Proxies.Trusts(peer) {
		return false, true
	}
	may = l.conns.Enter(peer)
	return may, may
}

// streamer is the address that a stream counts for; the zero Addr is not counted.
func (l *limiter) streamer(ctx *fasthttp.RequestCtx) netip.Addr {
	client := l.client(ctx)
	if l.g.cfg.Limits.PerAddressConns < 0 || !l.counts(client, l.anyConn) {
		return netip.Addr{}
	}
	return client
}

// disconnects leaves what connects counted.
func (l *limiter) disconnects(peer netip.Addr) { l.conns.Leave(peer) }
