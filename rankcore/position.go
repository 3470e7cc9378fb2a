package rankcore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Position is the name of a log message: its sequence and the time the log server stored it.
// After the log lost its tail a sequence comes back with another time, so a name never does.
// The zero Position is before the first message.
type Position struct {
	Seq  uint64
	Time int64 // Unix nanoseconds
}

// IsNone reports whether p is before the first message.
func (p Position) IsNone() bool { return p == Position{} }

// At is the time the message was stored.
func (p Position) At() time.Time { return time.Unix(0, p.Time) }

// Newer is the later stored of two messages. Time decides, since a log that lost its tail gives its sequences again.
func Newer(p, q Position) Position {
	if p.Time > q.Time || p.Time == q.Time && p.Seq > q.Seq {
		return p
	}
	return q
}

// String is "<seq>-<ns>", or "none". ParsePosition reads it back.
func (p Position) String() string {
	return string(p.Append(make([]byte, 0, 40)))
}

// Append appends what String is.
func (p Position) Append(dst []byte) []byte {
	if p.IsNone() {
		return append(dst, "none"...)
	}
	dst = strconv.AppendUint(dst, p.Seq, 10)
	dst = append(dst, '-')
	return strconv.AppendInt(dst, p.Time, 10)
}

// ParsePosition reads what String wrote; the empty string is none too.
func ParsePosition(s string) (Position, error) {
	if s == "" || s == "none" {
		return Position{}, nil
	}
	seq, ns, ok := strings.Cut(s, "-")
	var p Position
	var err1, err2 error
	p.Seq, err1 = strconv.ParseUint(seq, 10, 64)
	p.Time, err2 = strconv.ParseInt(ns, 10, 64)
	if !ok || err1 != nil || err2 != nil || p.String() != s {
		return Position{}, fmt.Errorf("position %q: %w", s, errPosition)
	}
	return p, nil
}

var errPosition = errors.New("want <sequence>-<nanoseconds>")
