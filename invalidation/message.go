package invalidation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rankgate/rankcore"
)

// The subjects. A board name has neither dots nor wildcards, so it is one token.
const (
	invalidatePrefix = "rankgate.invalidate."
	beaconSubject    = "rankgate.beacon"
)

const (
	version         = 1
	maxSourceBytes  = 64
	maxNamedUsers   = 1000      // in one broadcast of ours; more are told as "all"
	maxNamedBytes   = 256 << 10 // of their names: escaped, they still fit NATS' 1 MiB
	maxBeaconBoards = 1000      // in one beacon; more boards take several
)

// number is where a message stands among all messages of its source. Hand-written messages have none.
type number struct {
	V      int    `json:"v,omitempty"`
	Source string `json:"source,omitempty"`
	N      uint64 `json:"n,omitempty"`
}

// broadcast is the payload on rankgate.invalidate.<board>.
type broadcast struct {
	number
	Users []rankcore.UserID `json:"users,omitempty"`
	Top   bool              `json:"top,omitempty"`
	All   bool              `json:"all,omitempty"`
	To    string            `json:"to,omitempty"` // rankcore.Position: the last message that is taken in

	Reached reached `json:"reached,omitempty"`
}

// beacon is the payload on rankgate.beacon: what a source knows of its boards.
type beacon struct {
	number
	Boards map[rankcore.BoardID]boardState `json:"boards"`
	Echoes map[string]uint64               `json:"echoes,omitempty"` // by listener, its newest call heard before the ages were taken
}

// boardState is a board's progress. BehindMS is the age of the applier's last look at the end of the log,
// by the sender's clock, so that the clocks of hosts need not agree; it is absent when there was none.
type boardState struct {
	Applied   string `json:"applied"`
	BehindMS  *int64 `json:"behind_ms,omitempty"`
	ShardsOut int    `json:"shards_out,omitempty"`
	Rebuild   int    `json:"rebuild,omitempty"`
	Lost      bool   `json:"lost,omitempty"`
}

var (
	errNumber  = errors.New("a numbered message has a source of 1 to 64 bytes and a number from 1 on")
	errNothing = errors.New("names no users, not top, not all")
	errState   = errors.New("a count or an age is negative, or too large")
	errVersion = errors.New("a later version")
)

func (n number) check() error {
	if len(n.Source) > maxSourceBytes || (n.Source == "") != (n.N == 0) {
		return errNumber
	}
	return nil
}

// decodeBroadcast reads a broadcast of ours or one written by hand. What a later version says is not
// understood in full, so it becomes "all".
func decodeBroadcast(board rankcore.BoardID, payload []byte) (rankcore.Change, number, error) {
	var b broadcast
	if err := json.Unmarshal(payload, &b); err != nil {
		return rankcore.Change{}, number{}, fmt.Errorf("broadcast: %w", err)
	}
	if err := b.check(); err != nil {
		return rankcore.Change{}, number{}, err
	}
	if b.V > version {
		return rankcore.Change{Board: board, All: true}, b.number, nil
	}
	to, err := rankcore.ParsePosition(b.To)
	if err != nil {
		return rankcore.Change{}, number{}, err
	}
	if len(b.Users) == 0 && !b.Top && !b.All {
		return rankcore.Change{}, number{}, errNothing
	}
	where, err := b.Reached.list()
	if err != nil {
		return rankcore.Change{}, number{}, err
	}
	return rankcore.Change{Board: board, To: to, Users: b.Users, Top: b.Top, All: b.All, Reached: where}, b.number, nil
}

func encodeBroadcast(n number, c rankcore.Change) ([]byte, error) {
	b := broadcast{number: n, Users: c.Users, Top: c.Top, All: c.All, Reached: encodeReached(c.Reached)}
	if !c.To.IsNone() {
		b.To = c.To.String()
	}
	return encode(b)
}

// decodeBeacon reads a beacon. sent tells by its echoes a local time after which it was sent, which CaughtUp is counted
// from and which is returned; both are zero when that is not known.
func decodeBeacon(payload []byte, sent func(echoes map[string]uint64) (time.Time, bool)) ([]rankcore.Progress, number, time.Time, error) {
	var b beacon
	if err := json.Unmarshal(payload, &b); err != nil {
		return nil, number{}, time.Time{}, fmt.Errorf("beacon: %w", err)
	}
	if err := b.check(); err != nil {
		return nil, number{}, time.Time{}, err
	}
	if b.V > version {
		return nil, number{}, time.Time{}, errVersion
	}
	if b.Source == "" {
		return nil, number{}, time.Time{}, errNumber
	}
	after, known := sent(b.Echoes)
	boards := make([]rankcore.Progress, 0, len(b.Boards))
	for id, state := range b.Boards {
		p, err := state.progress(id, after)
		if err != nil {
			return nil, number{}, time.Time{}, err
		}
		if !known {
			p.CaughtUp = time.Time{}
		}
		boards = append(boards, p)
	}
	return boards, b.number, after, nil
}

func encodeBeacon(n number, boards []rankcore.Progress, heard map[string]uint64, now time.Time) ([]byte, error) {
	b := beacon{number: n, Echoes: heard, Boards: make(map[rankcore.BoardID]boardState, len(boards))}
	for _, p := range boards {
		b.Boards[p.Board] = stateOf(p, now)
	}
	return encode(b)
}

func stateOf(p rankcore.Progress, now time.Time) boardState {
	s := boardState{Applied: p.Applied.String(), ShardsOut: p.ShardsOut, Rebuild: p.Rebuild, Lost: p.LogLost}
	if !p.CaughtUp.IsZero() {
		behind := max((now.Sub(p.CaughtUp) + time.Millisecond - 1).Milliseconds(), 0) // never younger than it is
		s.BehindMS = &behind
	}
	return s
}

func (s boardState) progress(id rankcore.BoardID, now time.Time) (rankcore.Progress, error) {
	const longest = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
	if s.ShardsOut < 0 || s.Rebuild < 0 || s.BehindMS != nil && (*s.BehindMS < 0 || *s.BehindMS > longest) {
		return rankcore.Progress{}, errState
	}
	applied, err := rankcore.ParsePosition(s.Applied)
	if err != nil {
		return rankcore.Progress{}, err
	}
	p := rankcore.Progress{Board: id, Applied: applied, ShardsOut: s.ShardsOut, Rebuild: s.Rebuild, LogLost: s.Lost}
	if s.BehindMS != nil {
		p.CaughtUp = now.Add(-time.Duration(*s.BehindMS) * time.Millisecond)
	}
	return p, nil
}

// encode does not escape <, > and &: user ids may be full of them, and sizes are bounded by it.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// boardOf is the board a broadcast's subject names.
func boardOf(subject string) rankcore.BoardID {
	return rankcore.BoardID(strings.TrimPrefix(subject, invalidatePrefix))
}
