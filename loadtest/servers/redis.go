package servers

import (
	"fmt"
	"time"
)

// RedisServer is one redis-server.
type RedisServer struct {
	*Process
	Addr string // host:port
	URL  string // redis://host:port/0
}

// Redis starts a redis-server that keeps nothing on disk, unless options say otherwise.
func Redis(host Host, opts ...Option) *RedisServer {
	host.Helper()
	var server *RedisServer
	onFreePorts(host, 1, func(ports []int) error {
		server = newRedis(host, ports[0], opts)
		server.launch()
		return server.ready()
	})
	return server
}

func newRedis(host Host, port int, opts []Option) *RedisServer {
	host.Helper()
	dir, addr := host.TempDir(), address(port)
	var s settings
	s.set("port", fmt.Sprint(port))
	s.set("bind", "127.0.0.1")
	s.set("dir", dir)
	s.set("save", "")
	s.set("appendonly", "no")
	s.apply(opts)
	var args []string
	for _, d := range s.directives {
		args = append(append(args, "--"+d.name), d.values...)
	}
	server := &RedisServer{Addr: addr, URL: "redis://" + addr + "/0"}
	server.Process = newProcess(host, Command{
		Name: "redis-server at " + addr,
		Path: findBinary(host, "redis-server", "`apt-get install redis-server`"),
		Args: args,
		Dir:  dir,
		Ready: func() error {
			_, err := respond(addr, time.Second, "PING") // an error while it is loading its files
			return err
		},
	})
	return server
}

// Do sends one command on a connection of its own and returns the reply: a string, an int64, nil, or
// a []any of these. It fails the test when Redis answers with an error or not at all.
func (r *RedisServer) Do(args ...string) any {
	r.host.Helper()
	reply, err := r.Try(args...)
	if err != nil {
		r.host.Fatalf("%s: %s: %v", r.spec.Name, args[0], err)
	}
	return reply
}

// Try is Do for a server that may be down or may refuse. It may be called from any goroutine.
func (r *RedisServer) Try(args ...string) (any, error) {
	return respond(r.Addr, 10*time.Second, args...)
}
