package loadtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// ErrNotLoopback is what a target beyond this machine gets without allowRemote. A load test aimed at the wrong
// address is an attack on somebody, and its writes stay in a board that people look at.
var ErrNotLoopback = errors.New("the target is not a loopback address; load can hurt whoever answers there")

// parseTarget is the host:port to dial, and whether by TLS. The name localhost counts as loopback; other
// names are not looked up, since what they mean can change between the look and the load.
func parseTarget(target string, allowRemote bool) (addr string, tls bool, err error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return "", false, fmt.Errorf("%q is not a server's address such as http://127.0.0.1:8080", target)
	}
	if u.Path != "" && u.Path != "/" {
		return "", false, fmt.Errorf("%q has a path; give the server's address alone", target)
	}
	host, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(host); !allowRemote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", false, fmt.Errorf("%s: %w", host, ErrNotLoopback)
	}
	tls = u.Scheme == "https"
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[tls]
	}
	return net.JoinHostPort(host, port), tls, nil
}
