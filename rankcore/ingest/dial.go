package ingest

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Dial returns a connection to an external NATS that never gives up: it answers at once, also while no server
// is there, and connects as soon as one is. url may name several servers, separated by commas. A half-open
// link is noticed within about four seconds.
func Dial(url string, opts ...nats.Option) (*nats.Conn, error) {
	return connect(url, opts)
}

func connect(url string, opts []nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{
		nats.Name("rankgate"),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.Timeout(2 * time.Second),
		// A publish while disconnected must fail and not be sent later: its caller has been told by then.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(1500 * time.Millisecond),
		nats.MaxPingsOutstanding(2),
	}, opts...)
	conn, err := nats.Connect(url, all...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return conn, nil
}
