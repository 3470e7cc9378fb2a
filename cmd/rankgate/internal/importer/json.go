package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

var (
	errJSON  = errors.New("not valid JSON")
	errValue = errors.New("score: want a number")
	errRow   = errors.New(`want {"user":"...","score":...}`)
	errLong  = fmt.Errorf("longer than %d bytes", bufferSize)
)

// tokens pulls JSON strings and numbers from a stream: a file of one object is never held as a whole.
type tokens struct {
	in   *bufio.Reader
	line uint32
	text []byte // the last string, when it was put together
}

// next is the next byte that is not white space.
func (t *tokens) next() (byte, error) {
	for {
		c, err := t.in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case '\n':
			t.line++
		case ' ', '\t', '\r':
		default:
			return c, nil
		}
	}
}

// str reads the rest of a string whose opening quote was read. The result is valid until the next call.
func (t *tokens) str() ([]byte, error) {
	part, err := t.in.ReadSlice('"')
	if err != nil {
		return nil, ended(err)
	}
	if plain := part[:len(part)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return plain, checkString(plain)
	}
	t.text = append(append(t.text[:0], '"'), part...)
	for escapedQuote(t.text) {
		if part, err = t.in.ReadSlice('"'); err != nil {
			return nil, ended(err)
		}
		if t.text = append(t.text, part...); len(t.text) > bufferSize {
			return nil, errLong
		}
	}
	if err := checkString(t.text); err != nil {
		return nil, err
	}
	var s string
	if json.Unmarshal(t.text, &s) != nil {
		return nil, errJSON
	}
	if !bytes.ContainsRune(t.text, utf8.RuneError) && bytes.ContainsRune([]byte(s), utf8.RuneError) {
		return nil, errors.New("an escape that is half a character")
	}
	return []byte(s), nil
}

// escapedQuote reports whether the quote at the end of text belongs to the string.
func escapedQuote(text []byte) bool {
	n := 0
	for i := len(text) - 2; i > 0 && text[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

func checkString(raw []byte) error {
	for _, c := range raw {
		if c < ' ' {
			return errJSON
		}
	}
	if !utf8.Valid(raw) {
		return errors.New("not valid UTF-8")
	}
	return nil
}

func ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errJSON
	case errors.Is(err, bufio.ErrBufferFull):
		return errLong
	}
	return err
}

// scalar reads a string or number that begins with c. number says which.
func (t *tokens) scalar(c byte) (text []byte, number bool, err error) {
	if c == '"' {
		text, err = t.str()
		return text, false, err
	}
	t.text = append(t.text[:0], c)
	for {
		c, err := t.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return t.text, true, checkNumber(t.text)
		}
		if err != nil {
			return nil, true, err
		}
		switch c {
		case ',', '}', ']', ' ', '\t', '\r', '\n', ':', '{', '[', '"':
			if err := t.in.UnreadByte(); err != nil {
				return nil, true, err
			}
			return t.text, true, checkNumber(t.text)
		}
		if t.text = append(t.text, c); len(t.text) > 64 {
			return nil, true, errValue
		}
	}
}

// checkNumber lets json's own words through; which numbers are scores, ParseScore decides.
func checkNumber(text []byte) error {
	if c := text[0]; c != '-' && (c < '0' || c > '9') || !json.Valid(text) {
		return errValue
	}
	return nil
}
