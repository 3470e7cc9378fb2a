package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// looksLikeRows reports whether the text begins with NDJSON, and not with an object of user -> score, in which
// "user" could be somebody's name: a good row, or any object with another on the next line.
func looksLikeRows(head []byte) bool {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	if _, _, err := parseRow(newLine(), first); err == nil {
		return true
	}
	return bytes.HasSuffix(bytes.TrimSpace(first), []byte("}")) && bytes.HasPrefix(bytes.TrimSpace(rest), []byte("{"))
}

// readNDJSON reads one row from each line.
func (r *Rows) readNDJSON(in *bufio.Reader) error {
	parser := newLine()
	for at := (place{line: 1}); ; at.line++ {
		text, err := in.ReadSlice('\n')
		last := errors.Is(err, io.EOF)
		if errors.Is(err, bufio.ErrBufferFull) {
			return &RowError{at, errLong}
		}
		if err != nil && !last {
			return err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			user, score, wrong := parseRow(parser, text)
			if wrong != nil {
				wrong = r.bad(at, wrong)
			} else {
				wrong = r.add(user, score, at)
			}
			if wrong != nil {
				return wrong
			}
		}
		if last {
			return nil
		}
	}
}

// line reads one line after another with the same buffers.
type line struct {
	tokens
	src         bytes.Reader
	user, score []byte
}

func newLine() *line {
	l := &line{}
	l.in = bufio.NewReader(&l.src)
	return l
}

// parseRow reads {"user":"...","score":...}. A rank beside them is what export writes, and is passed over.
func parseRow(l *line, text []byte) (user, score []byte, err error) {
	l.src.Reset(text)
	l.in.Reset(&l.src)
	l.user, l.score = l.user[:0], l.score[:0]
	var hasUser, hasScore bool
	c, err := l.next()
	if err != nil || c != '{' {
		return nil, nil, errRow
	}
	for c = ','; c == ','; {
		name, value, number, err := l.member()
		if err != nil {
			return nil, nil, err
		}
		switch {
		case name == "user" && !hasUser && !number:
			hasUser, l.user = true, append(l.user, value...)
		case name == "score" && !hasScore:
			hasScore, l.score = true, append(l.score, value...)
		case name == "rank" && number:
		default:
			return nil, nil, errRow
		}
		if c, err = l.next(); err != nil {
			return nil, nil, errJSON
		}
	}
	if _, err := l.next(); c != '}' || !errors.Is(err, io.EOF) {
		return nil, nil, errJSON
	}
	if !hasUser || !hasScore {
		return nil, nil, errRow
	}
	return l.user, l.score, nil
}

// member reads a name and its value.
func (l *line) member() (name string, value []byte, number bool, err error) {
	if c, err := l.next(); err != nil || c != '"' {
		return "", nil, false, errJSON
	}
	text, err := l.str()
	if err != nil {
		return "", nil, false, err
	}
	name = string(text)
	if c, err := l.next(); err != nil || c != ':' {
		return "", nil, false, errJSON
	}
	c, err := l.next()
	if err != nil {
		return "", nil, false, errJSON
	}
	value, number, err = l.scalar(c)
	return name, value, number, err
}
