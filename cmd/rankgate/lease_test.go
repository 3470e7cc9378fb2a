package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// applies reports whether the core says that it applies the board.
func applies(t *testing.T, c *child) bool {
	t.Helper()
	return metric(t, c.api, `rankgate_ingest_leader{board="power"}`) == 1
}

// applier waits until exactly one of the cores applies the board, and returns it.
func applier(t *testing.T, cores ...*child) (leader *child) {
	t.Helper()
	eventually(t, tryFor, func() error {
		n := 0
		for _, c := range cores {
			if applies(t, c) {
				leader = c
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%d cores apply the board", n)
		}
		return nil
	})
	return leader
}

// Of two cores one applies. Whatever becomes of it, the other takes over, and what a gateway calls fresh meanwhile
// has every write that is older than the bound.
func TestAnotherCoreTakesOver(t *testing.T) {
	nats, redis := servers.NATS(t), servers.Redis(t)
	config := fmt.Sprintf("boards: { power: { update: add, shards: 4 } }\nlog: { url: %q, monitors: [%q] }\nstore: { url: %q }\nrole: ",
		nats.URL, nats.MonitorURL, redis.URL)
	cores := []*child{startChild(t, config+"core"), startChild(t, config+"core")}
	gateway := startChild(t, config+"gateway")
	gateway.awaitReady(t)
	for _, c := range cores {
		c.awaitReady(t) // one that stands by has nothing to complain of
	}
	score := int64(0)
	for _, hurt := range []struct {
		how         string
		hurt, after func(*child)
	}{
		{"stopped", func(c *child) { c.Stop() }, func(c *child) { c.Restart() }},
		{"killed", func(c *child) { c.Kill() }, func(c *child) { c.Restart() }},
		{"frozen", func(c *child) { c.Freeze() }, func(c *child) { c.Thaw() }},
	} {
		leader := applier(t, cores...)
		hurt.hurt(leader)
		began := time.Now()
		score++
		if status, err := gateway.do(http.MethodPost, "/v1/boards/power/scores", `{"ops":[{"user":"ann","add":1}]}`, nil); err != nil || status != http.StatusAccepted {
			t.Fatalf("%s: a write: %d, %v", hurt.how, status, err)
		}
		written, doubted := time.Now(), 0
		eventually(t, tryFor, func() error {
			asked := time.Now()
			var top page
			gateway.get("/v1/boards/power/top", &top)
			has := len(top.Entries) == 1 && top.Entries[0].Score == score
			switch {
			case top.Status != "fresh":
				doubted++
				return fmt.Errorf("top is %s, because of %s", top.Status, top.Reason)
			case !has && asked.Sub(written) > time.Second:
				t.Fatalf("%s: %v after a write of %d a fresh answer is %+v", hurt.how, asked.Sub(written), score, top)
			case !has:
				return fmt.Errorf("top = %+v", top)
			}
			return nil
		})
		t.Logf("%s: applied and fresh after %v; %d answers in between were not fresh", hurt.how, time.Since(began).Round(time.Millisecond), doubted)
		hurt.after(leader)
		for _, c := range cores {
			c.awaitReady(t)
		}
	}
	applier(t, cores...)
}
