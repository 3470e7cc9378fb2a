package rankcore

import (
	"errors"
	"fmt"
	"time"
)

// OpError says what is wrong with one operation of a body. It never repeats what the body said.
type OpError struct {
	Index  int    `json:"index"`
	Detail string `json:"detail"`
}

// OpErrors are the operations of a body that cannot be taken, by index.
type OpErrors []OpError

func (e OpErrors) Error() string {
	if len(e) == 0 {
		return "no operation is wrong"
	}
	return fmt.Sprintf("%d operations are wrong, the first at index %d: %s", len(e), e[0].Index, e[0].Detail)
}

// BodyError says that a body as a whole is not what is wanted.
type BodyError struct{ Detail string }

func (e *BodyError) Error() string { return e.Detail }

// Mark is what a message without operations is for (rankcore/ingest/PROTOCOL.md).
type Mark uint8

// The marks.
const (
	MarkNone  Mark = iota // a message of operations
	MarkTick              // keeps positions from falling off the log's front
	MarkProbe             // proves which log this is; carries a nonce
	MarkLost              // records a position that this log does not have
)

var marks = []string{MarkNone: "", MarkTick: "tick", MarkProbe: "probe", MarkLost: "lost"}

// Message is one log message, understood.
type Message struct {
	Mark  Mark
	Nonce string   // of a probe
	Gone  Position // of a lost record
	Ops   []Op
	Bad   []OpError // operations that can never apply
}

// ParseOps reads the body of a write: {"ops":[...]}, strictly. Every operation is checked; now is the
// clock that At is held against. It fails with a *BodyError or with OpErrors.
func ParseOps(b *Board, body []byte, now time.Time) ([]Op, error) {
	p := opParser{scanner: scanner{text: string(body)}, board: b, now: now, ahead: MaxAhead}
	if err := p.body(false); err != nil {
		return nil, err
	}
	if len(p.bad) > 0 {
		return nil, OpErrors(p.bad)
	}
	return p.ops, nil
}

// clockDrift is how far the log server's clock may be behind that of a gateway. What a gateway acknowledged by its
// own clock must not turn into a dead letter by the other.
const clockDrift = time.Hour

// ParseMessage reads a log message that was stored at the given time. Operations without an id take theirs
// from msgID (the message's Nats-Msg-Id) and their index, where there is one. Operations that can never
// apply are in Bad. A *BodyError means that nothing of the message can be used.
func ParseMessage(b *Board, payload []byte, msgID string, stored time.Time) (Message, error) {
	p := opParser{scanner: scanner{text: string(payload)}, board: b, now: stored, ahead: MaxAhead + clockDrift, msgID: msgID}
	if err := p.body(true); err != nil {
		return Message{}, err
	}
	return Message{Mark: p.mark, Nonce: p.nonce, Gone: p.gone, Ops: p.ops, Bad: p.bad}, nil
}

// opParser holds what is known while a body is read.
type opParser struct {
	scanner
	board *Board
	now   time.Time
	ahead time.Duration // how far at may lie after now
	msgID string

	ops   []Op
	bad   []OpError
	count int
	mark  Mark
	nonce string
	gone  Position
}

const opsWanted = `want {"ops":[...]} with 1 to 1000 operations and no other field`

// body reads the whole text; logged bodies carry a version and may be marks.
func (p *opParser) body(logged bool) error {
	var seen uint
	version := ""
	err := p.members(func(name string) error {
		field := bodyFields[name]
		if field == 0 || field != fieldOps && !logged {
			return &BodyError{"an unknown field: " + opsWanted}
		}
		if seen&field != 0 {
			return &BodyError{"a field is given twice"}
		}
		seen |= field
		var err error
		switch field {
		case fieldOps:
			err = p.elements(p.element)
		case fieldVersion:
			version, err = p.number()
		case fieldMark:
			err = p.readMark()
		case fieldNonce:
			p.nonce, err = p.str()
		case fieldGone:
			err = p.readGone()
		}
		return err
	})
	if err == nil && p.peek() != 0 || errors.Is(err, errJSON) {
		err = p.unwanted(opsWanted)
	}
	switch {
	case err != nil:
		return err
	case logged && version != "1":
		return &BodyError{"not version 1"}
	case logged && p.mark != MarkNone && seen&fieldOps == 0:
		return nil
	case seen != fieldOps && seen != fieldOps|fieldVersion || p.count == 0:
		return &BodyError{opsWanted}
	}
	return nil
}

const (
	fieldOps = 1 << iota
	fieldVersion
	fieldMark
	fieldNonce
	fieldGone
)

var bodyFields = map[string]uint{"ops": fieldOps, "v": fieldVersion, "mark": fieldMark, "nonce": fieldNonce, "gone": fieldGone}

func (p *opParser) readMark() error {
	name, err := p.str()
	if err != nil {
		return err
	}
	if parseName(marks, []byte(name), &p.mark) != nil || p.mark == MarkNone {
		return &BodyError{"an unknown mark"}
	}
	return nil
}

func (p *opParser) readGone() error {
	text, err := p.str()
	if err != nil {
		return err
	}
	if p.gone, err = ParsePosition(text); err != nil {
		return &BodyError{"not a position"}
	}
	return nil
}

// element reads one operation into ops or bad.
func (p *opParser) element() error {
	if p.count == MaxOps {
		return &BodyError{"more than 1000 operations"}
	}
	index := p.count
	p.count++
	op, detail, err := p.op()
	if err != nil {
		return err
	}
	if detail != "" {
		p.bad = append(p.bad, OpError{Index: index, Detail: detail})
		return nil
	}
	if op.ID == "" && p.msgID != "" {
		op.ID = fmt.Sprintf("%s#%d", p.msgID, index)
	}
	if p.ops == nil {
		p.ops = make([]Op, 0, min(MaxOps, 1+len(p.text)/32))
	}
	p.ops = append(p.ops, op)
	return nil
}
