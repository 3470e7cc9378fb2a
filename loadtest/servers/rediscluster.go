package servers

import (
	"fmt"
	"net"
	"strings"
	"time"
)

const slots = 16384 // of a Redis Cluster

// RedisClusterServers is a Redis Cluster of several redis-servers.
type RedisClusterServers struct {
	Masters  []*RedisServer
	Replicas []*RedisServer // Replicas[i] follows Masters[i % len(Masters)] at the start
	URL      string         // redis+cluster://a,b,c
}

// RedisCluster starts a Redis Cluster with that many masters and that many replicas in all (not for each),
// and returns when every node says that the cluster is whole. A dead master is replaced after about 2 s.
func RedisCluster(host Host, masters, replicas int, opts ...Option) *RedisClusterServers {
	host.Helper()
	c := &RedisClusterServers{}
	var addrs []string
	for i := range masters + replicas {
		node := redisNode(host, opts)
		addrs = append(addrs, node.Addr)
		if i < masters {
			c.Masters = append(c.Masters, node)
			node.Do("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(i*slots/masters), fmt.Sprint((i+1)*slots/masters-1))
		} else {
			c.Replicas = append(c.Replicas, node)
		}
	}
	c.URL = "redis+cluster://" + strings.Join(addrs, ",")
	first := c.Masters[0]
	for i, node := range c.nodes() {
		node.Do("CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1)) // or the masters quarrel about the first one
		if ip, port, err := net.SplitHostPort(first.Addr); err == nil && node != first {
			node.Do("CLUSTER", "MEET", ip, port, busPort(first))
		}
	}
	c.await(host, func(node *RedisServer) error { return node.knows(masters + replicas) })
	for i, replica := range c.Replicas {
		id, _ := c.Masters[i%masters].Do("CLUSTER", "MYID").(string)
		replica.Do("CLUSTER", "REPLICATE", id)
	}
	c.await(host, (*RedisServer).whole)
	return c
}

func redisNode(host Host, opts []Option) *RedisServer {
	host.Helper()
	var node *RedisServer
	onFreePorts(host, 2, func(ports []int) error {
		own := []Option{
			With("cluster-enabled", "yes"), With("cluster-port", fmt.Sprint(ports[1])), With("cluster-node-timeout", "2000"),
			With("repl-diskless-sync-delay", "0"), // else a replica waits 5 s for others to join it
		}
		node = newRedis(host, ports[0], append(own, opts...))
		node.launch()
		return node.ready()
	})
	return node
}

func (c *RedisClusterServers) nodes() []*RedisServer {
	return append(append([]*RedisServer{}, c.Masters...), c.Replicas...)
}

// await waits until holds is nil on every node.
func (c *RedisClusterServers) await(host Host, holds func(*RedisServer) error) {
	host.Helper()
	late := time.After(readyWithin)
	for _, node := range c.nodes() {
		for err := holds(node); err != nil; err = holds(node) {
			select {
			case <-late:
				host.Fatalf("Redis Cluster was not ready within %v: %s: %v", readyWithin, node.Addr, err)
			case <-time.After(pollEvery):
			}
		}
	}
}

// AwaitOK waits until every running node says that the cluster covers all slots, for instance after a failover.
func (c *RedisClusterServers) AwaitOK(host Host) {
	host.Helper()
	c.await(host, func(node *RedisServer) error {
		if !node.Running() {
			return nil
		}
		return node.Says("CLUSTER", "cluster_state:ok")
	})
}

func (r *RedisServer) knows(nodes int) error {
	return r.Says("CLUSTER", fmt.Sprintf("cluster_known_nodes:%d\r", nodes))
}

// whole reports whether the node sees all slots served and, as a replica, has its master's data.
func (r *RedisServer) whole() error {
	if err := r.Says("CLUSTER", "cluster_state:ok"); err != nil {
		return err
	}
	if err := r.Says("CLUSTER", fmt.Sprintf("cluster_slots_ok:%d\r", slots)); err != nil {
		return err
	}
	if r.Says("REPLICATION", "role:master") == nil {
		return nil
	}
	return r.Says("REPLICATION", "master_link_status:up")
}

// Says is nil when a part of the node's information, INFO or CLUSTER INFO, holds text, and else says what it holds.
func (r *RedisServer) Says(part, text string) error {
	command := []string{"INFO", part}
	if part == "CLUSTER" {
		command = []string{"CLUSTER", "INFO"}
	}
	reply, err := respond(r.Addr, time.Second, command...)
	if err != nil {
		return err
	}
	if info, _ := reply.(string); !strings.Contains(info, text) {
		return fmt.Errorf("no %q in %q", text, info)
	}
	return nil
}

func busPort(r *RedisServer) string {
	for i, arg := range r.spec.Args {
		if arg == "--cluster-port" {
			return r.spec.Args[i+1]
		}
	}
	return ""
}
