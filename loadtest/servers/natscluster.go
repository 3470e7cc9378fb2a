package servers

import (
	"fmt"
	"strings"
)

// NATSClusterServers is a cluster of nats-servers.
type NATSClusterServers struct {
	Nodes []*NATSServer
	URL   string // nats://a,nats://b,nats://c
}

// NATSCluster starts n nats-servers as one cluster and returns when JetStream has a leader that all are
// in touch with. A stream needs n >= its replicas, and more than half of them running.
func NATSCluster(host Host, n int, opts ...Option) *NATSClusterServers {
	host.Helper()
	var c *NATSClusterServers
	onFreePorts(host, 3*n, func(ports []int) error {
		c = &NATSClusterServers{}
		var urls []string
		for i := range n {
			node := natsNode{
				name: fmt.Sprintf("n%d", i+1), client: ports[i], monitor: ports[n+i], route: ports[2*n+i], peers: ports[2*n:],
			}
			server := newNATS(host, node, opts)
			c.Nodes, urls = append(c.Nodes, server), append(urls, server.URL)
			server.launch()
		}
		c.URL = strings.Join(urls, ",")
		for _, server := range c.Nodes {
			if err := server.ready(); err != nil {
				for _, other := range c.Nodes {
					other.Kill()
				}
				return err
			}
		}
		return nil
	})
	return c
}
