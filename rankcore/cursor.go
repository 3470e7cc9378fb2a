package rankcore

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"
)

// Cursor is where a walk through a season's rows goes on: behind a place, within a range. It names its season,
// so that a walk of "this week" stays in the week it began in.
type Cursor struct {
	Season SeasonID
	Within ScoreRange
	After  Place
}

// cursorVersion changes when the shape of a cursor does.
const cursorVersion = 1

// maxCursor is the longest a cursor can be, in characters.
const maxCursor = 512

// errCursor is all that is said about a cursor that cannot be taken.
var errCursor = errors.New("cursor is not one that this board gave out")

// Encode is the cursor as text of URL-safe characters, for the given board only. Whoever has it can read it. The
// checksum tells a damaged or altered one; it is no secret, and needs none: a forged cursor only asks for rows
// that anybody may ask for.
func (c Cursor) Encode(b *Board) string {
	raw := append(make([]byte, 0, 64+len(c.After.User)), cursorVersion)
	raw = append(append(raw, byte(len(c.Season))), c.Season...)
	if c.Within.IsWhole() {
		raw = append(raw, 0)
	} else {
		raw = append(raw, 1)
		raw = binary.AppendVarint(raw, int64(c.Within.min))
		raw = binary.AppendVarint(raw, int64(c.Within.max))
	}
	if !c.After.IsStart() {
		raw = binary.AppendVarint(raw, int64(c.After.Score))
		if b.Ties == TiesFirst {
			raw = binary.AppendUvarint(raw, uint64(c.After.Arrival))
		}
		raw = append(raw, c.After.User...)
	}
	raw = binary.LittleEndian.AppendUint64(raw, cursorSum(b, raw))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseCursor reads what Encode wrote for the same board. The text is copied.
func ParseCursor(b *Board, text string) (c Cursor, err error) {
	if len(text) > maxCursor {
		return c, errCursor
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 8 {
		return c, errCursor
	}
	body, sum := raw[:len(raw)-8], raw[len(raw)-8:]
	if binary.LittleEndian.Uint64(sum) != cursorSum(b, body) {
		return c, errCursor
	}
	r := cursorReader{rest: body}
	if r.byte() != cursorVersion {
		return c, errCursor
	}
	c.Season = SeasonID(r.bytes(int(r.byte())))
	if r.byte() == 1 {
		c.Within = Between(r.score(), r.score())
	}
	if len(r.rest) > 0 {
		c.After.Score = r.score()
		if b.Ties == TiesFirst {
			c.After.Arrival = r.arrival()
		}
		c.After.User, err = ParseUserID(string(r.rest))
	}
	// What reads well but is written in another way, such as a number with needless bytes, was not given out.
	if err != nil || r.bad || c.Encode(b) != text {
		return Cursor{}, errCursor
	}
	return c, nil
}

// cursorSum binds a cursor to what decides about its order.
func cursorSum(b *Board, body []byte) uint64 {
	d := xxhash.NewWithSeed(cursorVersion)
	_, _ = d.WriteString(string(b.ID)) // never fails
	_, _ = d.Write([]byte{byte(b.Ties), byte(b.Order), byte(b.Scale)})
	_, _ = d.Write(body)
	return d.Sum64()
}

// cursorReader reads a cursor from its front; bad says that it ended too early or holds what cannot be.
type cursorReader struct {
	rest []byte
	bad  bool
}

func (r *cursorReader) bytes(n int) string {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}

func (r *cursorReader) byte() byte {
	if text := r.bytes(1); text != "" {
		return text[0]
	}
	return 0
}

func (r *cursorReader) score() Score {
	n, size := binary.Varint(r.rest)
	if size <= 0 || !Score(n).InRange() {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return Score(n)
}

func (r *cursorReader) arrival() Arrival {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return Arrival(n)
}
