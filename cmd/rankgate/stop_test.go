package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// visitor is a client with one connection, which it gives up when it is told to, and no sooner.
type visitor struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
}

// errAway: nobody listens, so the server has stopped.
var errAway = errors.New("nobody listens")

// ask sends a request and returns the answer's status. It fails with errAway, or when a request that was sent is cut
// off, or its answer is.
func (v *visitor) ask(request string) (status int, err error) {
	fresh := v.conn == nil
	if fresh {
		if v.conn, err = net.Dial("tcp", v.address); err != nil {
			return 0, away(err)
		}
		v.in = bufio.NewReader(v.conn)
	}
	if err := v.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := v.conn.Write([]byte(request)); err != nil {
		if fresh {
			err = away(err)
		}
		return 0, fmt.Errorf("sending: %w", err)
	}
	answer, err := http.ReadResponse(v.in, nil)
	if err != nil {
		if fresh {
			err = away(err)
		}
		return 0, fmt.Errorf("no answer: %w", err)
	}
	_, err = bufio.NewReader(answer.Body).WriteTo(discard{})
	if err == nil && answer.Close {
		v.close()
	}
	return answer.StatusCode, err
}

// away is errAway for what a client sees of a connection that nobody takes: it is refused, or, when the kernel took it in
// between the last one that was accepted and the end of listening, reset.
func away(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errAway
	}
	return err
}

func (v *visitor) close() {
	if v.conn != nil {
		_ = v.conn.Close()
		v.conn = nil
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func httpRequest(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
}

// SIGTERM under load: every request that was sent is answered whole, with what it would have been answered anyhow, no
// connection is reset under its client, the process ends by itself with 0, and every acknowledged write is there after it.
func stopsUnderLoad(t *testing.T, c *child) {
	const visitors = 24
	_, address, _ := strings.Cut(c.url, "://")
	var acked [visitors]int
	var answered atomic.Int64
	var all sync.WaitGroup
	for n := range visitors {
		all.Go(func() {
			v := visitor{address: address}
			defer v.close()
			for i := 0; ; i++ {
				request := httpRequest("GET", "/v1/boards/power/top", "")
				write := n%3 > 0
				if write {
					path := "/v1/boards/power/scores" + []string{"", "?wait=applied"}[n%2]
					request = httpRequest("POST", path, fmt.Sprintf(`{"ops":[{"id":"%d","user":"u%d","add":1}]}`, i, n))
				}
				status, err := v.ask(request)
				switch {
				case errors.Is(err, errAway):
					return
				case err != nil:
					t.Errorf("visitor %d, request %d: %v", n, i, err)
					return
				case write && (status == http.StatusAccepted || status == http.StatusOK):
					acked[n]++
				case status != http.StatusOK:
					t.Errorf("visitor %d, request %d: status %d", n, i, status)
				}
				answered.Add(1)
			}
		})
	}
	eventually(t, tryFor, func() error {
		if n := answered.Load(); n < 2000 {
			return fmt.Errorf("only %d requests were answered", n)
		}
		return nil
	})
	c.Stop()
	all.Wait()
	if code := c.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.Relaunch()
	c.AwaitReady()
	eventually(t, tryFor, func() error {
		for n := range visitors {
			if n%3 == 0 {
				continue
			}
			var got struct {
				Status string
				Score  int
			}
			status, err := c.do(http.MethodGet, fmt.Sprintf("/v1/boards/power/users/u%d/rank", n), "", &got)
			if err != nil || status != http.StatusOK || got.Status != "fresh" || got.Score != acked[n] {
				return fmt.Errorf("u%d: %d, %+v, %w; %d writes were acknowledged", n, status, got, err, acked[n])
			}
		}
		return nil
	})
}

func TestStopUnderLoadEmbedded(t *testing.T) {
	stopsUnderLoad(t, startChild(t, killBoard))
}

func TestStopUnderLoadOnServers(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	stopsUnderLoad(t, startChild(t, fmt.Sprintf("%s\nlog: { url: %q }\nstore: { url: %q }", killBoard, nats.URL, redis.URL)))
}
