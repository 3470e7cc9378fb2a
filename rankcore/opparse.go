package rankcore

import (
	"math/bits"
	"strings"
	"time"
)

// The fields of an operation, as bits of what was seen. The actions stand first, in OpKind's order.
const (
	opID     = 1 << 6
	opUser   = 1 << 7
	opAt     = 1 << 8
	opAction = 1<<6 - 1
)

func opField(name string) uint {
	switch name {
	case "user":
		return opUser
	case "id":
		return opID
	case "at":
		return opAt
	}
	for k, kind := range opKinds {
		if name == kind {
			return 1 << k
		}
	}
	return 0
}

// op reads one operation. detail says why it cannot be taken; the rest of it is then still read, so that
// the operations after it are checked too. err means that the text is not JSON.
func (p *opParser) op() (op Op, detail string, err error) {
	if p.peek() != '{' {
		return op, "not an object", p.skip(1)
	}
	var seen uint
	wrong := func(what string) {
		if detail == "" {
			detail = what
		}
	}
	err = p.members(func(name string) error {
		field := opField(name)
		if field == 0 {
			wrong("an unknown field: an operation has user, optionally id and at, and one of add, set, best, remove, hide, show")
			return p.skip(2)
		}
		if seen&field != 0 {
			wrong("a field is given twice")
			return p.skip(2)
		}
		seen |= field
		what, err := p.opValue(&op, field)
		if what != "" {
			wrong(what)
		}
		return err
	})
	if err != nil || detail != "" {
		return op, detail, err
	}
	switch {
	case seen&opUser == 0:
		return op, "user is missing", nil
	case bits.OnesCount(seen&opAction) != 1:
		return op, "an operation has exactly one of add, set, best, remove, hide, show", nil
	}
	if err := p.board.Takes(op.Kind); err != nil {
		return op, err.Error(), nil
	}
	return op, "", nil
}

// opValue reads the value of one field of an operation; what says what is wrong with it.
func (p *opParser) opValue(op *Op, field uint) (what string, err error) {
	if field&opAction != 0 {
		op.Kind = OpKind(bits.TrailingZeros(field))
		if op.Kind.HasValue() {
			return p.score(op)
		}
		if p.literal("true") {
			return "", nil
		}
		return op.Kind.String() + ": want true", p.skip(2)
	}
	if p.peek() != '"' {
		return "user, id and at are strings", p.skip(2)
	}
	text, err := p.str()
	if err != nil {
		return "", err
	}
	switch field {
	case opUser:
		if op.User, err = ParseUserID(text); err != nil {
			return "user: " + err.Error(), nil
		}
	case opID:
		if len(text) < 1 || len(text) > MaxOpIDBytes {
			return "id: want 1 to 64 bytes", nil
		}
		op.ID = text
	case opAt:
		return p.when(op, text), nil
	}
	return "", nil
}

func (p *opParser) score(op *Op) (what string, err error) {
	var text string
	switch c := p.peek(); {
	case c == '"' && p.board.Scale > 0:
		text, err = p.str()
	case c == '-' || c >= '0' && c <= '9':
		text, err = p.number()
	default:
		if p.board.Scale > 0 {
			return op.Kind.String() + ": want a decimal, as a number or a string", p.skip(2)
		}
		return op.Kind.String() + ": want an integer", p.skip(2)
	}
	if err != nil {
		return "", err
	}
	if op.Value, err = ParseScore(text, p.board.Scale); err != nil {
		return op.Kind.String() + ": " + err.Error(), nil
	}
	return "", nil
}

// when reads at, which is kept to the millisecond.
func (p *opParser) when(op *Op, text string) (what string) {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	// time.Parse takes an hour of one digit and a decimal comma too, which RFC 3339 does not have.
	case err != nil || text[len("2006-01-02T15")] != ':' || strings.Contains(text, ","):
		return "at: want a time such as 2026-11-30T11:59:58Z (RFC 3339)"
	case at.After(p.now.Add(p.ahead)):
		return "at: more than 24 hours ahead"
	case at.Unix() < 0: // by UTC, as the log writes it
		return "at: before 1970"
	}
	op.At = at.UTC().Truncate(time.Millisecond)
	return ""
}
