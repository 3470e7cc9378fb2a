package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// readObject reads one JSON object of user -> score as a stream.
func (r *Rows) readObject(in *bufio.Reader) error {
	t := &tokens{in: in, line: 1}
	if _, err := t.next(); err != nil { // the brace that told the format
		return err
	}
	var user []byte
	for entry := uint32(1); ; entry++ {
		c, err := t.next()
		if err == nil && c == '}' && entry == 1 {
			break
		}
		if err == nil && c != '"' {
			err = errJSON
		}
		if err == nil {
			var key []byte
			key, err = t.str()
			user = append(user[:0], key...)
		}
		at := place{t.line, entry}
		if err != nil {
			return &RowError{at, ended(err)}
		}
		if err := r.member(t, user, at); err != nil {
			return err
		}
		c, err = t.next()
		if err == nil && c == '}' {
			break
		}
		if err != nil || c != ',' {
			return &RowError{place{t.line, entry}, errors.Join(errJSON, afterwards(err))}
		}
	}
	if _, err := t.next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: something stands after the object", t.line)
	}
	return nil
}

// member reads the score after a user.
func (r *Rows) member(t *tokens, user []byte, at place) error {
	c, err := t.next()
	if err == nil && c != ':' {
		err = errJSON
	}
	if err == nil {
		c, err = t.next()
	}
	if err != nil {
		return &RowError{at, ended(err)}
	}
	if c == '{' || c == '[' {
		return &RowError{at, errValue} // no row can be found behind it without reading it
	}
	score, _, err := t.scalar(c)
	switch {
	case errors.Is(err, errValue):
		return r.bad(at, err)
	case err != nil:
		return &RowError{at, err}
	}
	return r.add(user, score, at)
}

func afterwards(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
