package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NATSServer is one nats-server with JetStream on.
type NATSServer struct {
	*Process
	URL        string // nats://host:port
	MonitorURL string // http://host:port of its own state: /jsz, /healthz, /connz
	StoreDir   string // JetStream's files
}

// NATS starts a nats-server whose JetStream syncs every message to disk before it acknowledges, unless
// options say otherwise.
func NATS(host Host, opts ...Option) *NATSServer {
	host.Helper()
	var server *NATSServer
	onFreePorts(host, 2, func(ports []int) error {
		server = newNATS(host, natsNode{name: "n1", client: ports[0], monitor: ports[1]}, opts)
		server.launch()
		return server.ready()
	})
	return server
}

// natsNode is where a server listens and, in a cluster, where its peers do.
type natsNode struct {
	name            string
	client, monitor int
	route           int   // 0: alone
	peers           []int // the route ports of all
}

func newNATS(host Host, node natsNode, opts []Option) *NATSServer {
	host.Helper()
	dir := host.TempDir()
	server := &NATSServer{
		URL:        "nats://" + address(node.client),
		MonitorURL: "http://" + address(node.monitor),
		StoreDir:   filepath.Join(dir, "jetstream"),
	}
	config := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(config, []byte(node.config(server.StoreDir, opts)), 0o600); err != nil {
		host.Fatalf("nats-server: %v", err)
	}
	server.Process = newProcess(host, Command{
		Name: "nats-server at " + server.URL,
		Path: findBinary(host, "nats-server", "`go install github.com/nats-io/nats-server/v2@v2.15.3`"),
		Args: []string{"--config", config},
		Dir:  dir,
		// Its own judgement: it listens, and JetStream is up and in touch with its leader.
		Ready: func() error { return Answers(server.MonitorURL + "/healthz") },
	})
	return server
}

func (n natsNode) config(store string, opts []Option) string {
	s := settings{syncInterval: "always"}
	s.set("server_name", n.name)
	s.set("listen", address(n.client))
	s.set("http", address(n.monitor))
	s.apply(opts)
	var text strings.Builder
	for _, d := range s.directives {
		fmt.Fprintf(&text, "%s: %s\n", d.name, strings.Join(d.values, " "))
	}
	fmt.Fprintf(&text, "jetstream { store_dir: %q, sync_interval: %s }\n", store, s.syncInterval)
	if n.route != 0 {
		routes := make([]string, len(n.peers))
		for i, peer := range n.peers {
			routes[i] = fmt.Sprintf("%q", "nats://"+address(peer))
		}
		fmt.Fprintf(&text, "cluster { name: test, listen: %q, routes: [%s] }\n", address(n.route), strings.Join(routes, ", "))
	}
	return text.String()
}
