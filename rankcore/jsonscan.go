package rankcore

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads strict JSON (RFC 8259) from one string, without reflection, because every operation passes
// through it twice. Strings it returns are parts of that string where they hold no escapes.
// Unlike encoding/json it refuses invalid UTF-8, lone surrogates and, through its caller, repeated names.
type scanner struct {
	text string
	at   int
}

var errJSON = errors.New("not valid JSON")

// unwanted says where a body stops being what is wanted, be it broken or well-formed.
func (s *scanner) unwanted(wanted string) error {
	return &BodyError{fmt.Sprintf("not the JSON that is wanted, from byte %d on: %s", s.at, wanted)}
}

const maxDepth = 64

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek is the next byte that is not white space, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// take consumes c if it is next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// literal consumes word if it is next.
func (s *scanner) literal(word string) bool {
	s.space()
	if !strings.HasPrefix(s.text[s.at:], word) {
		return false
	}
	s.at += len(word)
	return true
}

// members calls member with each name of the object that is next; member consumes the value.
func (s *scanner) members(member func(name string) error) error {
	if !s.take('{') {
		return errJSON
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return errJSON
		}
		if err := member(name); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return errJSON
		}
	}
}

// elements calls element for each element of the array that is next; element consumes it.
func (s *scanner) elements(element func() error) error {
	if !s.take('[') {
		return errJSON
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return errJSON
		}
	}
}

// str reads a string.
func (s *scanner) str() (string, error) {
	if !s.take('"') {
		return "", errJSON
	}
	start, ascii := s.at, true
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			part := s.text[start:s.at]
			if !ascii && !utf8.ValidString(part) {
				return "", errJSON
			}
			s.at++
			return part, nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return "", errJSON
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", errJSON
}

// escaped reads the rest of a string that began at start and has its first escape here.
func (s *scanner) escaped(start int) (string, error) {
	var b strings.Builder
	b.WriteString(s.text[start:s.at])
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			if !utf8.ValidString(b.String()) {
				return "", errJSON
			}
			return b.String(), nil
		case c < ' ':
			return "", errJSON
		case c != '\\':
			b.WriteByte(c)
		default:
			r, ok := s.escape()
			if !ok {
				return "", errJSON
			}
			b.WriteRune(r)
		}
	}
	return "", errJSON
}

const (
	escapes   = `"\/bfnrt`
	unescaped = "\"\\/\b\f\n\r\t"
)

// escape reads what follows a backslash.
func (s *scanner) escape() (rune, bool) {
	if s.at >= len(s.text) {
		return 0, false
	}
	c := s.text[s.at]
	s.at++
	if i := strings.IndexByte(escapes, c); i >= 0 {
		return rune(unescaped[i]), true
	}
	if c != 'u' {
		return 0, false
	}
	r, ok := s.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !strings.HasPrefix(s.text[s.at:], `\u`) {
		return 0, false
	}
	s.at += 2
	low, ok := s.hex4()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

func (s *scanner) hex4() (rune, bool) {
	if len(s.text)-s.at < 4 {
		return 0, false
	}
	var r rune
	for range 4 {
		c := s.text[s.at]
		s.at++
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number reads a number's text.
func (s *scanner) number() (string, error) {
	s.space()
	start := s.at
	digits := func() bool {
		from := s.at
		for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
			s.at++
		}
		return s.at > from
	}
	next := func(set string) bool {
		if s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
			s.at++
			return true
		}
		return false
	}
	next("-")
	if !next("0") && !digits() {
		return "", errJSON
	}
	if next(".") && !digits() {
		return "", errJSON
	}
	if next("eE") {
		next("+-")
		if !digits() {
			return "", errJSON
		}
	}
	return s.text[start:s.at], nil
}

// skip reads any value and forgets it.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return errJSON
	}
	var err error
	switch c := s.peek(); c {
	case '{':
		return s.members(func(string) error { return s.skip(depth + 1) })
	case '[':
		return s.elements(func() error { return s.skip(depth + 1) })
	case '"':
		_, err = s.str()
	case 't', 'f', 'n':
		if !s.literal("true") && !s.literal("false") && !s.literal("null") {
			err = errJSON
		}
	default:
		_, err = s.number()
	}
	return err
}
