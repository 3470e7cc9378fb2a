package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
)

// What is configured about addresses and origins reaches the gateway: with limits set, loopback is held to them too.
func TestLimitsAndOriginsAreConfigured(t *testing.T) {
	const origin = "https://shop.example"
	c := startChild(t, fmt.Sprintf(`
boards: { power: {} }
limits: { per_address_rps: 5, per_address_conns: 20, core_concurrency: 8 }
cors: { origins: [%q] }
auth: { users: { header: { trusted_proxies: [127.0.0.1] } } }`, origin))
	ask := func(from string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/v1/boards", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		req.Header.Set("X-Forwarded-For", from)
		resp, err := httpClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("allowed origin %q", got)
		}
		return resp
	}
	eventually(t, tryFor, func() error { // however slowly this machine asks
		for range 100 {
			if resp := ask("6.6.6.6, 192.0.2.1"); resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "1" {
				return nil
			}
		}
		return fmt.Errorf("an address may ask as often as it likes")
	})
	if resp := ask("6.6.6.6, 192.0.2.2"); resp.StatusCode != http.StatusOK {
		t.Errorf("another address: %d", resp.StatusCode)
	}
}

// A Redis that is told to evict while it is used is told of with what to do, here and once in the log, and answers go on.
func TestAnEvictingStoreIsTold(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	c := startChild(t, fmt.Sprintf("boards: { power: { shards: 4 } }\nlog: { url: %q }\nstore: { url: %q }", nats.URL, redis.URL))
	scoreOf(c.api, "ann")
	store := func(want, says string) {
		t.Helper()
		eventually(t, tryFor, func() error {
			var ready struct {
				Ready        bool
				Dependencies map[string]struct{ Status, Detail string }
			}
			status, err := c.do(http.MethodGet, "/readyz", "", &ready)
			if d := ready.Dependencies["store"]; err != nil || status != http.StatusOK || !ready.Ready || d.Status != want || !strings.Contains(d.Detail, says) {
				return fmt.Errorf("readyz: %d, %+v, %w", status, ready, err)
			}
			return nil
		})
	}
	store("ok", "")
	redis.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	store("degraded", "set it to noeviction")
	ranked(c.api, "ann")
	redis.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	store("ok", "")
	if n := strings.Count(c.Log(), "the store is not as it should be"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
}
