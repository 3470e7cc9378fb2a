package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"rankgate/loadtest/servers"
)

// The load of BenchmarkEdge.
const (
	edgeUsers   = 100_000
	edgeCallers = 16
	edgeRounds  = 5
	edgeRound   = 1500 * time.Millisecond
)

// BenchmarkEdge measures answers out of memory, asked for over sockets, beside servers that do nothing but send as
// much: fasthttp with the same body, and Fiber with the same bytes. Each serves on one core in a process of its own;
// they take turns, and what counts is the best turn of each. The processor time of a request says more than the
// rate: this process, which asks, shares the machine with them. Freshness is long here, so that what is measured is
// the hit and not the core.
func BenchmarkEdge(b *testing.B) {
	b.Setenv("GOMAXPROCS", "1")
	c := startChild(b, "boards: { power: { update: set, freshness: 10m } }\ncache: { max_bytes: 256MB }")
	c.crowd(b, edgeUsers)
	addr := strings.TrimPrefix(c.url, "http://")
	top := one("/v1/boards/power/top?limit=100", "")
	tag, whole := c.shown(b, top)
	ranks := make([][]byte, edgeUsers)
	for i := range ranks {
		ranks[i] = request(fmt.Sprintf("/v1/boards/power/users/player-%06d/rank", i), "")
	}
	rankOnly := ranks[:1]
	_, standing := c.shown(b, rankOnly)
	subjects := []*subject{
		newBare(b, "fasthttp", whole), newBare(b, "fiber", whole),
		{name: "top", process: c.Process, addr: addr, requests: top},
		{name: "top-gzip", process: c.Process, addr: addr, requests: one("/v1/boards/power/top?limit=100", "Accept-Encoding: gzip\r\n")},
		{name: "top-304", process: c.Process, addr: addr, requests: one("/v1/boards/power/top?limit=100", "If-None-Match: "+tag+"\r\n")},
		newBare(b, "fiber-rank", standing),
		{name: "rank", process: c.Process, addr: addr, requests: ranks},
	}
	for _, s := range subjects {
		for range 2 { // the second time, answers come out of memory and are kept encoded
			s.ask(b, len(s.requests), 0)
		}
	}
	for range edgeRounds {
		for _, s := range subjects {
			s.round(b)
		}
	}
	raw, plain, plainRank := subjects[0], subjects[1], subjects[5]
	for _, s := range subjects {
		beside := plain
		if strings.HasSuffix(s.name, "rank") {
			beside = plainRank
		}
		b.Run(s.name, func(b *testing.B) {
			b.ReportMetric(s.rate, "requests/s")
			b.ReportMetric(s.cpu*1e6, "cpu-us/request")
			b.ReportMetric(s.rate/raw.rate, "rate-x-fasthttp")
			b.ReportMetric(s.cpu/beside.cpu, "cpu-x-fiber")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// crowd gives n users scores.
func (c *child) crowd(b *testing.B, n int) {
	for at := 0; at < n; at += 1000 {
		var ops strings.Builder
		for i := at; i < at+1000; i++ {
			fmt.Fprintf(&ops, `,{"user":"player-%06d","set":%d}`, i, 9_000_000-i*13)
		}
		path := "/v1/boards/power/scores"
		if at+1000 >= n {
			path += "?wait=applied"
		}
		if status, err := c.do(http.MethodPost, path, `{"ops":[`+ops.String()[1:]+`]}`, nil); err != nil || status/100 != 2 {
			b.Fatalf("a batch got %d, %v", status, err)
		}
	}
}

// shown is an answer as it goes over the wire, out of memory, and its ETag.
func (c *child) shown(b *testing.B, requests [][]byte) (tag string, wire []byte) {
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = conn.Write(bytes.Replace(requests[0], []byte("\r\n\r\n"), []byte("\r\nConnection: close\r\n\r\n"), 1))
		wire, err = io.ReadAll(conn)
		conn.Close()
		if err != nil {
			b.Fatal(err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(wire)), nil)
	if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Cache-Status") != "rankgate; hit" {
		b.Fatalf("%v: %s", err, wire)
	}
	answer.Body.Close()
	return answer.Header.Get("Etag"), wire
}

func request(path, headers string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n")
}

func one(path, headers string) [][]byte { return [][]byte{request(path, headers)} }

// subject is a server that is measured, and what it is asked.
type subject struct {
	name      string
	process   *servers.Process
	addr      string
	requests  [][]byte
	rate, cpu float64 // of the best round: requests in a second, seconds for a request
}

// round asks for a while and keeps what is better than before.
func (s *subject) round(b *testing.B) {
	before, start := cpuOf(b, s.process), time.Now()
	n := s.ask(b, math.MaxInt, edgeRound)
	cpu := (cpuOf(b, s.process) - before) / float64(n)
	s.rate = max(s.rate, float64(n)/time.Since(start).Seconds())
	if s.cpu == 0 || cpu < s.cpu {
		s.cpu = cpu
	}
}

// ask asks most times, or until the time is over, one question after another on each connection. It returns how often.
func (s *subject) ask(b *testing.B, most int, within time.Duration) int {
	var asked atomic.Int64
	var over atomic.Bool
	if within > 0 {
		defer time.AfterFunc(within, func() { over.Store(true) }).Stop()
	}
	var callers sync.WaitGroup
	for range edgeCallers {
		callers.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			for !over.Load() {
				n := int(asked.Add(1))
				if n > most {
					asked.Add(-1)
					return
				}
				_, _ = conn.Write(s.requests[n%len(s.requests)])
				if err := skip(r); err != nil {
					b.Errorf("%s: %v", s.name, err)
					return
				}
			}
		})
	}
	callers.Wait()
	return int(asked.Load())
}

// skip reads an answer, which must be a good one.
func skip(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 304")) {
		return fmt.Errorf("an answer %q, %w", line, err)
	}
	length := 0
	for len(line) > 2 {
		if line, err = r.ReadSlice('\n'); err != nil {
			return err
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				return err
			}
		}
	}
	_, err = r.Discard(length)
	return err
}

// newBare is a server that sends one answer, whatever it is asked: this test binary, started as another program.
func newBare(b *testing.B, name string, wire []byte) *subject {
	file := filepath.Join(b.TempDir(), "answer")
	if err := os.WriteFile(file, wire, 0o600); err != nil {
		b.Fatal(err)
	}
	s := &subject{name: name, addr: fmt.Sprintf("127.0.0.1:%d", servers.FreePorts(b, 1)[0]), requests: one("/", "")}
	s.process = servers.Start(b, servers.Command{
		Name: name, Path: os.Args[0], Env: []string{bareEnv + "=" + name, bareEnv + "_ADDR=" + s.addr, bareEnv + "_FILE=" + file},
		Ready: func() error {
			conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.addr)
			if err == nil {
				conn.Close()
			}
			return err
		},
	})
	return s
}

const bareEnv = "RANKGATE_TEST_BARE"

// serveBare is that program. Of rankgate's answer fasthttp sends the body and its type, Fiber everything.
func serveBare(name string) error {
	wire, err := os.ReadFile(os.Getenv(bareEnv + "_FILE"))
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(wire)), nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	addr, mime := os.Getenv(bareEnv+"_ADDR"), answer.Header.Get("Content-Type")
	if name == "fasthttp" {
		return fasthttp.ListenAndServe(addr, func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType(mime)
			ctx.SetBody(body)
		})
	}
	var names, values []string
	for name := range answer.Header {
		if name != "Date" && name != "Connection" && name != "Content-Length" {
			names, values = append(names, name), append(values, answer.Header.Get(name))
		}
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/*", func(c *fiber.Ctx) error {
		for i, name := range names {
			c.Set(name, values[i])
		}
		return c.Send(body)
	})
	return app.Listen(addr)
}
