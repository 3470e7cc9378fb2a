package loadtest

import (
	"net/url"
	"slices"
	"time"

	"rankgate/loadtest/servers"
)

// rig is what a scenario runs on: rankgates, and the servers between which it stands. What a rig does not have
// is nil. The first gate has the public face.
type rig struct {
	host  servers.Host
	gates []*Gate

	redis   *servers.RedisServer // the master
	replica *servers.RedisServer
	toRedis *Proxy
	cluster *servers.RedisClusterServers

	nats        *servers.NATSServer
	toNATS      *Proxy
	natsCluster *servers.NATSClusterServers
}

// layout is how a rig is built.
type layout int

const (
	embedded  layout = iota // one rankgate and nothing else
	oneRedis                // one rankgate, its shards in Redis, which has a replica
	apart                   // a gateway and two cores, one NATS, one Redis with a replica
	clustered               // a gateway and two cores, three NATS servers, a Redis Cluster

	// For the reads scenarios: a gateway, a core and one NATS.
	plain       // with one Redis
	fourMasters // with a Redis Cluster that nobody stands by for
	replaced    // with one that has replicas
)

// build starts everything. The proxies and what they do are the seed's.
func (l layout) build(host servers.Host, binary string, seed uint64) *rig {
	r := &rig{host: host}
	cfg := GateConfig{Binary: binary}
	switch l {
	case embedded:
	case oneRedis:
		cfg.Store = r.startRedis(seed)
	case apart:
		cfg.Store = r.startRedis(seed)
		r.nats = servers.NATS(host)
		r.toNATS = NewProxy(host, hostPort(r.nats.URL), seed+1)
		cfg.Log = "nats://" + r.toNATS.Addr
	case clustered:
		lagging := servers.With("cluster-replica-validity-factor", "0") // even a replica that lags far may take over
		r.cluster = servers.RedisCluster(host, 3, 3, append(redisOptions(), lagging)...)
		r.natsCluster = servers.NATSCluster(host, 3)
		cfg.Store, cfg.Log = r.cluster.URL, r.natsCluster.URL
	case plain, fourMasters, replaced:
		r.startReads(l, seed, &cfg)
		cfg.Still = true
	}
	roles := []string{"all"}
	switch l {
	case embedded, oneRedis:
	case plain, fourMasters, replaced:
		roles = []string{"core", "gateway"}
	case apart, clustered:
		roles = []string{"core", "core", "gateway"} // a gateway is ready when a core has been heard
	}
	for _, role := range roles {
		cfg.Role = role
		r.gates = append(r.gates, StartGate(host, cfg))
	}
	slices.Reverse(r.gates)
	return r
}

// startRedis starts a master, its replica and the proxy before it, and returns the store's URL.
func (r *rig) startRedis(seed uint64) string {
	r.redis = servers.Redis(r.host, redisOptions()...)
	r.replica = servers.Redis(r.host, redisOptions()...)
	r.follow()
	r.toRedis = NewProxy(r.host, r.redis.Addr, seed)
	return "redis://" + r.toRedis.Addr + "/0"
}

// redisOptions keep what was written over a kill, as far as that can be had: what is in the page cache survives.
func redisOptions() []servers.Option {
	return []servers.Option{
		servers.With("maxmemory-policy", "noeviction"),
		servers.With("appendonly", "yes"),
		servers.With("repl-diskless-sync-delay", "0"), // else a replica waits 5 s for others to join it
	}
}

func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // a server's own address
	}
	return u.Host
}

// proxies are those there are.
func (r *rig) proxies() (all []*Proxy) {
	for _, p := range []*Proxy{r.toRedis, r.toNATS} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// redises are those there are, masters and replicas.
func (r *rig) redises() []*servers.RedisServer {
	if r.cluster != nil {
		return append(slices.Clone(r.cluster.Masters), r.cluster.Replicas...)
	}
	var all []*servers.RedisServer
	for _, one := range []*servers.RedisServer{r.redis, r.replica} {
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// comesBack is how long anything may take until a rig is whole again.
const comesBack = 30 * time.Second

// await returns when holds is nil.
func (r *rig) await(what string, holds func() error) {
	r.host.Helper()
	late := time.After(comesBack)
	for err := holds(); err != nil; err = holds() {
		select {
		case <-late:
			r.host.Fatalf("waited %v for %s: %v", comesBack, what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
