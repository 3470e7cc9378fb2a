package identity_test

import (
	"net/netip"
	"testing"

	"rankgate/gateway/identity"
)

func TestOrigin(t *testing.T) {
	var proxies identity.Proxies
	for _, text := range []string{"10.0.0.0/8", "127.0.0.1", "2001:db8:aaaa::/48"} {
		prefix, err := identity.ParseProxy(text)
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, prefix)
	}
	for _, c := range []struct {
		what, peer string
		forwarded  []string
		want       string
	}{
		{"nobody forwards", "192.0.2.9", nil, "192.0.2.9"},
		{"a stranger lies", "192.0.2.9", []string{"6.6.6.6"}, "192.0.2.9"},
		{"a stranger names a proxy", "192.0.2.9", []string{"6.6.6.6, 10.0.0.1"}, "192.0.2.9"},
		{"a proxy says nothing", "10.0.0.1", nil, "10.0.0.1"},
		{"a proxy tells", "10.0.0.1", []string{"192.0.2.9"}, "192.0.2.9"},
		{"a proxy on this machine", "127.0.0.1", []string{"192.0.2.9"}, "192.0.2.9"},
		{"written as IPv6", "::ffff:10.0.0.1", []string{"::ffff:192.0.2.9"}, "192.0.2.9"},
		{"the client lied to the proxy", "10.0.0.1", []string{"6.6.6.6, 192.0.2.9"}, "192.0.2.9"},
		{"the client named a proxy", "10.0.0.1", []string{"6.6.6.6, 10.0.0.7, 192.0.2.9"}, "192.0.2.9"},
		{"the client sent rubbish", "10.0.0.1", []string{"<script>, 192.0.2.9"}, "192.0.2.9"},
		{"two proxies", "10.0.0.1", []string{"6.6.6.6, 192.0.2.9, 10.0.0.2"}, "192.0.2.9"},
		{"proxies of IPv6", "2001:db8:aaaa::1", []string{"2001:db8:1::5,2001:db8:aaaa::2"}, "2001:db8:1::5"},
		{"two headers", "10.0.0.1", []string{"6.6.6.6, 192.0.2.9", "10.0.0.2"}, "192.0.2.9"},
		{"no spaces, or many", "10.0.0.1", []string{"6.6.6.6,192.0.2.9 ,\t 10.0.0.2 "}, "192.0.2.9"},
		{"with a port", "10.0.0.1", []string{"192.0.2.9:4711"}, "192.0.2.9"},
		{"with a port, IPv6", "10.0.0.1", []string{"[2001:db8::9]:4711"}, "2001:db8::9"},
		{"in brackets", "10.0.0.1", []string{"[2001:db8::9]"}, "2001:db8::9"},
		{"with a zone", "10.0.0.1", []string{"fe80::9%eth0"}, "fe80::9"},
		{"only proxies", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"the proxy writes rubbish", "10.0.0.1", []string{"192.0.2.9, unknown"}, "10.0.0.1"},
		{"rubbish behind a proxy", "10.0.0.1", []string{"192.0.2.9, , 10.0.0.2"}, "10.0.0.1"},
		{"empty", "10.0.0.1", []string{""}, "10.0.0.1"},
		{"a number", "10.0.0.1", []string{"3221225993"}, "10.0.0.1"},
		{"a host", "10.0.0.1", []string{"localhost"}, "10.0.0.1"},
		{"half a bracket", "10.0.0.1", []string{"[2001:db8::9"}, "10.0.0.1"},
	} {
		if got := proxies.Origin(netip.MustParseAddr(c.peer), c.forwarded...); got.String() != c.want {
			t.Errorf("%s: %s via %q came from %s, want %s", c.what, c.peer, c.forwarded, got, c.want)
		}
	}
	if got := identity.Proxies(nil).Origin(netip.MustParseAddr("127.0.0.1"), "6.6.6.6"); got.String() != "127.0.0.1" {
		t.Errorf("without proxies it came from %s", got)
	}
}
