package loadtest_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"rankgate/loadtest"
)

// echo answers each line with itself, and tells of each line it got.
func echo(t *testing.T) (addr string, got chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	got = make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewReader(conn); ; {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					got <- line
					if _, err := io.WriteString(conn, line); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String(), got
}

// ask sends a line on a new connection and returns the reply.
func ask(t *testing.T, addr, line string) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

func TestProxyLosesRepliesAndNotRequests(t *testing.T) {
	server, got := echo(t)
	p := loadtest.NewProxy(t, server, 1)
	if reply, err := ask(t, p.Addr, "a"); err != nil || reply != "a\n" {
		t.Fatalf("%q, %v, want the reply", reply, err)
	}
	p.Lose(1)
	if reply, err := ask(t, p.Addr, "b"); err == nil {
		t.Errorf("%q, want none", reply)
	}
	if first, second := <-got, <-got; first != "a\n" || second != "b\n" {
		t.Errorf("the server got %q, %q, want both requests", first, second)
	}
	p.Lose(0)
	p.Delay(20 * time.Millisecond)
	if reply, err := ask(t, p.Addr, "c"); err != nil || reply != "c\n" {
		t.Errorf("late: %q, %v, want the reply", reply, err)
	}
	other, _ := echo(t)
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	if _, err := io.WriteString(conn, "d\n"); err != nil {
		t.Fatal(err)
	}
	if reply, err := answers.ReadString('\n'); err != nil || reply != "d\n" {
		t.Fatalf("%q, %v, want the reply", reply, err)
	}
	p.Aim(other)
	if _, err := answers.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v: a connection outlived its server", err)
	}
}
