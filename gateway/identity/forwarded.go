package identity

import (
	"net/netip"
	"strings"
)

// Origin is where a request came from that peer sent. Its X-Forwarded-For, one text for each header there is,
// counts only as far as trusted proxies wrote it: each appends whom it heard, so it is walked from its end, over
// those that are trusted, to the first that is not. What stands further left anybody may have written. Where
// that walk meets what is no address nobody knows, and it is the peer that counts.
func (p Proxies) Origin(peer netip.Addr, forwarded ...string) netip.Addr {
	peer = peer.Unmap().WithZone("")
	origin := peer
	for i := len(forwarded) - 1; i >= 0; i-- {
		for rest, more := forwarded[i], true; more; {
			if !p.Trusts(origin) {
				return origin
			}
			hop := rest
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, hop = rest[:at], rest[at+1:]
			} else {
				more = false
			}
			addr, ok := parseHop(strings.Trim(hop, " \t"))
			if !ok {
				return peer
			}
			origin = addr
		}
	}
	return origin
}

// parseHop reads an address; some proxies add a port, or write the brackets of a URL.
func parseHop(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(text)
		addr = at.Addr()
	}
	if inner, ok := strings.CutPrefix(text, "["); err != nil && ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			addr, err = netip.ParseAddr(inner)
		}
	}
	return addr.Unmap().WithZone(""), err == nil
}
