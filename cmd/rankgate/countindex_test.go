package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
)

// askedCounts is how often a process asked a core for counts, with this result.
func askedCounts(t *testing.T, c *child, result string) float64 {
	t.Helper()
	return metric(t, c.api, fmt.Sprintf("rankgate_aggregate_counts_asked_total{result=%q}", result))
}

// Exact ranks of every process come from the count index of the core that applies the board. When it is gone, shards
// are asked until another core's index is ready, and no answer is another.
func TestOneIndexForAllGateways(t *testing.T) {
	const users = 200
	nats, redis := servers.NATS(t), servers.Redis(t)
	config := fmt.Sprintf("boards: { power: { shards: 64 } }\nlog: { url: %q, monitors: [%q] }\nstore: { url: %q }\nlimits: { per_address_rps: -1 }\nquota: { exact_per_day: -1 }\nrole: ",
		nats.URL, nats.MonitorURL, redis.URL)
	cores := []*child{startChild(t, config+"all"), startChild(t, config+"all")}
	gateway := startChild(t, config+"gateway")
	for _, c := range append(cores, gateway) {
		c.awaitReady(t)
	}
	var ops []string
	for i := range users {
		ops = append(ops, fmt.Sprintf(`{"user":"user%d","set":%d}`, i, users-i))
	}
	gateway.writtenThrough(t, `{"ops":[`+strings.Join(ops, ",")+`]}`)
	asked := 0
	ask := func(c *child) {
		t.Helper()
		asked++
		var got struct {
			Status, Precision string
			Rank              int
		}
		path := fmt.Sprintf("/v1/boards/power/users/user%d/rank?precision=exact", asked%users)
		status, err := c.do(http.MethodGet, path, "", &got)
		if err != nil || status != http.StatusOK || got.Status == "fresh" && got.Precision == "exact" && got.Rank != asked%users+1 {
			t.Fatalf("%s: %d, %+v, %v", path, status, got, err)
		}
	}
	counts := func(c *child) {
		t.Helper()
		before := askedCounts(t, c, "answered")
		eventually(t, tryFor, func() error {
			ask(c)
			if n := askedCounts(t, c, "answered") - before; n < 20 {
				return fmt.Errorf("the core counted %v times", n)
			}
			return nil
		})
	}
	leader := applier(t, cores...)
	standby := cores[1-slices.Index(cores, leader)]
	counts(gateway)
	counts(standby)
	own := askedCounts(t, leader, "answered")
	for range 20 {
		ask(leader)
	}
	if n := askedCounts(t, leader, "answered") - own; n > 0 && applies(t, leader) {
		t.Errorf("the core that applies the board asked others %v times", n)
	}
	leader.Kill()
	for range 50 {
		ask(gateway)
		ask(standby)
	}
	applier(t, standby)
	counts(gateway)
}
