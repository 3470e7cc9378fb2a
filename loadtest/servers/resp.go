package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// respond sends one command to a Redis at addr on a new connection and reads the reply. An error reply is
// an error. It speaks just enough of RESP2 to set servers up without a client library.
func respond(addr string, within time.Duration, args ...string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	request := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	return readReply(bufio.NewReader(conn))
}

func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, errors.New("not a RESP reply")
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, errors.New(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("RESP reply %q: %w", kind, err)
	}
	switch {
	case kind == ':':
		return n, nil
	case kind == '$' && n >= 0:
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	case kind == '*' && n >= 0:
		list := make([]any, n)
		for i := range list {
			if list[i], err = readReply(r); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, nil // the null string and the null list
}
