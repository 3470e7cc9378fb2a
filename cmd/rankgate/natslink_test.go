package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// natsLink is a way to a NATS server that can be hurt: it stalls without closing anything, or loses messages.
type natsLink struct {
	url     string
	loses   atomic.Pointer[string] // messages whose subjects begin so; nil: none
	lost    atomic.Int64
	pieces  sync.RWMutex // held for writing while nothing gets through
	carried sync.WaitGroup
}

func newNATSLink(t *testing.T, server string) *natsLink {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &natsLink{url: "nats://" + listener.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		listener.Close()
		l.carried.Wait()
	})
	l.carried.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			l.carried.Go(func() { l.carry(ctx, client, strings.TrimPrefix(server, "nats://")) })
		}
	})
	return l
}

func (l *natsLink) stall()  { l.pieces.Lock() }
func (l *natsLink) goOn()   { l.pieces.Unlock() }
func (l *natsLink) losing() { subject := "rankgate.invalidate."; l.loses.Store(&subject) }
func (l *natsLink) whole()  { l.loses.Store(nil) }

func (l *natsLink) carry(ctx context.Context, client net.Conn, addr string) {
	defer client.Close()
	server, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	end := func() { client.Close(); server.Close() }
	defer context.AfterFunc(ctx, end)()
	l.carried.Go(func() {
		defer end()
		for piece := make([]byte, 64<<10); ; {
			n, err := client.Read(piece)
			if err != nil || !l.pass(server, piece[:n]) {
				return
			}
		}
	})
	for from := bufio.NewReader(server); ; {
		frame, subject, err := nextFrame(from)
		if err != nil {
			return
		}
		if loses := l.loses.Load(); loses != nil && strings.HasPrefix(subject, *loses) {
			l.lost.Add(1)
			continue
		}
		if !l.pass(client, frame) {
			return
		}
	}
}

func (l *natsLink) pass(to io.Writer, piece []byte) bool {
	l.pieces.RLock()
	defer l.pieces.RUnlock()
	_, err := to.Write(piece)
	return err == nil
}

// nextFrame reads one thing a server says; a message with its payload, and its subject.
func nextFrame(from *bufio.Reader) (frame []byte, subject string, err error) {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return nil, "", err
	}
	fields := bytes.Fields(line)
	if len(fields) < 4 || string(fields[0]) != "MSG" && string(fields[0]) != "HMSG" {
		return line, "", nil
	}
	size, err := strconv.Atoi(string(fields[len(fields)-1]))
	if err != nil {
		return nil, "", err
	}
	payload := make([]byte, size+len("\r\n"))
	_, err = io.ReadFull(from, payload)
	return append(line, payload...), string(fields[1]), err
}
