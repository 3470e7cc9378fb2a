package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// cluster is two cores and two gateways, each a process of its own, on a NATS cluster of three and a Redis Cluster.
type cluster struct {
	nats     *servers.NATSClusterServers
	redis    *servers.RedisClusterServers
	gateways [2]*child
	cores    [2]*child
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{nats: servers.NATSCluster(t, 3), redis: servers.RedisCluster(t, 3, 3)}
	var monitors []string
	for _, node := range c.nats.Nodes {
		monitors = append(monitors, strconv.Quote(node.MonitorURL))
	}
	config := fmt.Sprintf("boards: { power: { update: add, shards: 16 } }\nlog: { url: %q, replicas: 3, monitors: [%s] }\nstore: { url: %q }\nrole: ",
		c.nats.URL, strings.Join(monitors, ", "), c.redis.URL)
	for i := range c.cores {
		c.cores[i] = startChild(t, config+"core")
		c.gateways[i] = startChild(t, config+"gateway")
	}
	for _, gateway := range c.gateways {
		gateway.awaitReady(t)
	}
	return c
}

// awaitReady waits until /readyz finds everything in order.
func (c *child) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, tryFor, func() error {
		var ready struct {
			Dependencies map[string]struct{ Status, Detail string }
		}
		status, err := c.do(http.MethodGet, "/readyz", "", &ready)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("readyz: %d, %w", status, err)
		}
		for name, d := range ready.Dependencies {
			if d.Status != "ok" {
				return fmt.Errorf("%s is %s: %s", name, d.Status, d.Detail)
			}
		}
		return nil
	})
}

// durability is what /readyz says of the log.
func (c *child) durability() string {
	var ready struct {
		Dependencies map[string]struct{ Durability string }
	}
	_, _ = c.do(http.MethodGet, "/readyz", "", &ready) // without an answer it says nothing
	return ready.Dependencies["log"].Durability
}

// leader is the server that leads the log's stream, and how many servers keep it.
func (c *cluster) leader(t *testing.T) (leader *servers.NATSServer, replicas int) {
	t.Helper()
	eventually(t, tryFor, func() error {
		for _, node := range c.nats.Nodes {
			if !node.Running() {
				continue
			}
			var at struct {
				Accounts []struct {
					Streams []struct {
						Name    string `json:"name"`
						Cluster struct {
							Leader   string
							Replicas []struct{ Name string }
						} `json:"cluster"`
					} `json:"stream_detail"`
				} `json:"account_details"`
			}
			if status, err := (api{t, node.MonitorURL}).do(http.MethodGet, "/jsz?streams=1", "", &at); err != nil || status != http.StatusOK {
				return fmt.Errorf("jsz: %d, %w", status, err)
			}
			for _, account := range at.Accounts {
				for _, s := range account.Streams {
					for i, candidate := range c.nats.Nodes {
						if s.Name == "RANKGATE" && s.Cluster.Leader == fmt.Sprintf("n%d", i+1) {
							leader, replicas = candidate, 1+len(s.Cluster.Replicas)
							return nil
						}
					}
				}
			}
		}
		return fmt.Errorf("the log has no leader")
	})
	return leader, replicas
}

// failOver makes the replica of a master that is killed its successor. The master comes back as a replica of it.
func (c *cluster) failOver(t *testing.T, master int) {
	t.Helper()
	c.redis.Masters[master].Kill()
	eventually(t, tryFor, func() error {
		if role, _ := c.redis.Replicas[master].Do("ROLE").([]any); len(role) == 0 || role[0] != "master" {
			return fmt.Errorf("the replica is %v", role)
		}
		return nil
	})
	c.redis.Masters[master].Relaunch()
	c.redis.Masters[master].AwaitReady()
	c.redis.AwaitOK(t)
}

// writtenThrough posts ops to a gateway until they are answered as applied, and returns the results.
func (c *child) writtenThrough(t *testing.T, ops string) (results []string) {
	t.Helper()
	var answer struct {
		Applied bool
		Results []string
	}
	if status, err := c.do(http.MethodPost, "/v1/boards/power/scores?wait=applied", ops, &answer); err != nil || status != http.StatusOK || !answer.Applied {
		t.Fatalf("waited for applied: %d, %+v, %v", status, answer, err)
	}
	return answer.Results
}

func TestClustersEndToEnd(t *testing.T) {
	c := startCluster(t)
	east, west := c.gateways[0], c.gateways[1]
	eventually(t, tryFor, func() error {
		if d := east.durability(); d != "fsync" {
			return fmt.Errorf("three monitored servers that sync are said to keep %q", d)
		}
		return nil
	})
	if _, replicas := c.leader(t); replicas != 3 {
		t.Errorf("the log has %d replicas, want 3", replicas)
	}
	t.Run("results across processes", func(t *testing.T) { c.results(t) })

	var l ledger
	l.run(t, []api{east.api, west.api}, 1, func() {
		more := func() { l.await(t, l.acked.Load()+200) }
		more()
		c.cores[0].Kill()
		more()
		leader, _ := c.leader(t)
		leader.Kill()
		more() // two of three are enough
		leader.Restart()
		c.cores[0].Restart()
		c.failOver(t, 1)
		c.cores[1].Kill() // what the first one's successor has taken over meanwhile
		more()
		c.cores[1].Restart()
		more()
	})
	l.compare(t, east.api)
	l.compare(t, west.api)
	t.Logf("%d batches acknowledged, %d of them after another try", l.acked.Load(), l.retried.Load())
	for _, gateway := range c.gateways {
		gateway.awaitReady(t)
	}
}

// results holds the answers of waiting writes, whose applier is another process, and that the other gateway agrees.
func (c *cluster) results(t *testing.T) {
	east, west := c.gateways[0], c.gateways[1]
	got := east.writtenThrough(t, `{"ops":[{"id":"r1","user":"ann","add":5},{"id":"r2","user":"bea","add":7},{"id":"r1","user":"ann","add":5}]}`)
	if s := fmt.Sprint(got); s != "[applied applied duplicate]" {
		t.Errorf("results: %s", s)
	}
	got = west.writtenThrough(t, `{"ops":[{"id":"r1","user":"ann","add":5},{"id":"r2","user":"bea","add":8},{"id":"r3","user":"ann","add":0},{"id":"r4","user":"bea","add":9007199254740991}]}`)
	if s := fmt.Sprint(got); s != "[duplicate conflict unchanged out_of_range]" {
		t.Errorf("results through the other gateway: %s", s)
	}
	for _, gateway := range c.gateways {
		eventually(t, time.Minute, func() error { // fresh within the bound, and never wrong while it says so
			var top page
			gateway.get("/v1/boards/power/top", &top)
			if top.Status != "fresh" {
				return fmt.Errorf("top is %s, because of %s", top.Status, top.Reason)
			}
			if s := fmt.Sprint(top.Entries); s != "[{1 bea 7} {2 ann 5}]" {
				return fmt.Errorf("top = %s", s)
			}
			return nil
		})
	}
	for _, user := range []string{"ann", "bea"} {
		if status, err := east.do(http.MethodDelete, "/v1/boards/power/users/"+user, "", nil); err != nil || status != http.StatusAccepted {
			t.Errorf("removing %s: %d, %v", user, status, err)
		}
	}
}

// What an acknowledgement survives is the log server's to say, not the configuration's.
func TestDurabilityOfAnExternalLog(t *testing.T) {
	for _, s := range []struct {
		name, want string
		options    []servers.Option
		monitored  bool
	}{
		{name: "syncs", want: "fsync", monitored: true},
		{name: "does not sync", want: "os", options: []servers.Option{servers.SyncInterval("2m")}, monitored: true},
		{name: "does not say", want: "os"},
	} {
		t.Run(s.name, func(t *testing.T) {
			nats := servers.NATS(t, s.options...)
			monitors := ""
			if s.monitored {
				monitors = strconv.Quote(nats.MonitorURL)
			}
			c := startChild(t, fmt.Sprintf("%s\nlog: { url: %q, durability: fsync, monitors: [%s] }", killBoard, nats.URL, monitors))
			c.awaitReady(t) // the servers were asked before that
			if d := c.durability(); d != s.want {
				t.Errorf("said to keep %q, want %q", d, s.want)
			}
		})
	}
}
