package gateway

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"rankgate/rankcore"
)

// encoder writes the JSON of the answers that are asked for all the time, by hand: a reflecting encoder
// costs several times what finding the answer costs. It is reused and not safe for concurrent use.
type encoder struct {
	buf []byte
	// Where the value of as_of stands, so that digest can leave it out.
	asOf, asOfEnd int
}

func (e *encoder) reset()          { e.buf, e.asOf, e.asOfEnd = e.buf[:0], 0, 0 }
func (e *encoder) raw(json string) { e.buf = append(e.buf, json...) }
func (e *encoder) int(n int64)     { e.buf = strconv.AppendInt(e.buf, n, 10) }
func (e *encoder) string(s string) { e.buf = appendString(e.buf, s) }

// score writes a number, or on a scale board a string, which no reader takes for a double.
func (e *encoder) score(s rankcore.Score, scale int) {
	if scale == 0 {
		e.int(int64(s))
		return
	}
	e.buf = append(e.buf, '"')
	e.buf = rankcore.AppendScore(e.buf, s, scale)
	e.buf = append(e.buf, '"')
}

// begin writes which board and season an answer is about.
func (e *encoder) begin(b *rankcore.Board, season rankcore.SeasonID) {
	e.reset()
	e.raw(`{"board":`)
	e.string(string(b.ID))
	e.raw(`,"season":`)
	e.string(string(season))
	e.raw(`,`)
}

// end ends an answer, and its line: who reads it in a terminal finds the prompt on a line of its own.
func (e *encoder) end() { e.raw("}\n") }

// meta writes what every answer says of itself, from status to total.
func (e *encoder) meta(m *rankcore.Meta) {
	e.raw(`"status":`)
	e.string(string(m.Status))
	if m.Reason != "" {
		e.raw(`,"reason":`)
		e.string(string(m.Reason))
	}
	e.raw(`,"as_of":`)
	e.asOf = len(e.buf)
	e.buf = appendTime(e.buf, m.AsOf)
	e.asOfEnd = len(e.buf)
	e.raw(`,"version":"`)
	e.buf = m.Version.Append(e.buf)
	e.raw(`"`)
	if m.Status == rankcore.Updating {
		e.raw(`,"total":null,"message":"ranking updating"`)
		return
	}
	e.raw(`,"total":`)
	e.int(m.Total)
}

// digest is a hash of everything written but as_of: two answers with one digest say the same.
func (e *encoder) digest() uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(e.buf[:e.asOf]) // never fails
	_, _ = d.Write(e.buf[e.asOfEnd:])
	return d.Sum64()
}

// appendTime appends t in quotes, in RFC 3339, UTC, with milliseconds.
func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, `"2006-01-02T15:04:05.000Z"`)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. User ids hold no control characters and are UTF-8; others' bytes
// are made valid all the same.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0 // s[plain:i] needs nothing
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[plain:i]...)
			if c < ' ' {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			} else {
				dst = append(dst, '\\', c)
			}
			i++
			plain = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[plain:i]...)
			dst = append(dst, "\uFFFD"...)
			plain = i + n
		}
		i += n
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}
