package servers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range that systems give to outgoing connections: a client that keeps
// dialing a killed server's port from that range may be given the same port as its own and connect to itself.
const lowestPort, highestPort = 12000, 32000

// FreePorts returns n distinct loopback ports that nobody listens on now. Somebody may take one before
// the caller does.
func FreePorts(host Host, n int) []int {
	host.Helper()
	held := make([]net.Listener, 0, n)
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	ports := make([]int, 0, n)
	for tries := 0; len(ports) < n; tries++ {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address(port))
		if err != nil {
			if tries > 1000 {
				host.Fatalf("no free loopback port: %v", err)
			}
			continue
		}
		held, ports = append(held, l), append(ports, port)
	}
	return ports
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// onFreePorts calls start with n free ports, and again with others while somebody else was quicker.
func onFreePorts(host Host, n int, start func(ports []int) error) {
	host.Helper()
	var err error
	for range 5 {
		if err = start(FreePorts(host, n)); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		host.Fatalf("%v", err)
	}
}
