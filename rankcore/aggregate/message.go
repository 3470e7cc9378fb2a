package aggregate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rankgate/rankcore"
)

// headSubject is asked for the first rows of a board on shards of that name. Neither has dots or wildcards, so each is
// one token.
func headSubject(shards string, id rankcore.BoardID) string {
	return "rankgate.head." + shards + "." + string(id)
}

const version = 1

// request is the payload of a question.
type request struct {
	V      int    `json:"v"`
	Asker  string `json:"asker,omitempty"` // names the process
	Season string `json:"season"`
	Rows   int    `json:"rows"`
	// WithinNS is how long before the question the reading may have begun at the earliest; absent: it does not
	// matter, as long as nothing is known to have changed since.
	WithinNS *int64 `json:"within_ns,omitempty"`
}

// head is an answer. Its ages are counted back from when the question arrived, and negative when what they tell of
// came later. The question was sent before it arrived, so that its asker may count them back from there.
type head struct {
	age     time.Duration // the rows were true then
	behind  time.Duration // the rows have everything that the log had then
	took    time.Duration // from the question's arrival to the answer
	sharing int64         // gateways that ask
	version rankcore.Position
	total   int64
	entries []rankcore.Entry
}

// The first byte of an answer tells its version, the second whether it is one.
const (
	refused  = 0 // the asker is to read the shards itself
	answered = 1
)

var (
	errRefused = errors.New("the core has no such rows ready")
	errGarbled = errors.New("an answer that is not one of ours")
)

func encodeRequest(r request) []byte {
	data, _ := json.Marshal(r) // numbers and a string
	return data
}

func decodeRequest(data []byte) (request, error) {
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if r.V != version || r.Rows < 0 || r.WithinNS != nil && *r.WithinNS < 0 {
		return r, fmt.Errorf("a question of version %d for %d rows", r.V, r.Rows)
	}
	return r, nil
}

// appendRow appends a row. A run of rows is its rows one after another, so the first of them are a prefix.
func appendRow(to []byte, e rankcore.Entry) []byte {
	to = binary.AppendVarint(to, e.Rank)
	to = binary.AppendVarint(to, int64(e.Score))
	to = binary.AppendUvarint(to, uint64(e.Arrival))
	to = binary.AppendUvarint(to, uint64(len(e.User)))
	return append(to, e.User...)
}

// encodeHead appends an answer whose n rows are encoded already.
func encodeHead(to []byte, h head, n int, rows []byte) []byte {
	to = append(to, version, answered)
	to = binary.AppendVarint(to, int64(h.age))
	to = binary.AppendVarint(to, int64(h.behind))
	to = binary.AppendVarint(to, int64(h.took))
	to = binary.AppendVarint(to, h.sharing)
	to = binary.AppendUvarint(to, h.version.Seq)
	to = binary.AppendVarint(to, h.version.Time)
	to = binary.AppendVarint(to, h.total)
	to = binary.AppendUvarint(to, uint64(n))
	return append(to, rows...)
}

// decodeHead reads an answer. The users' names share its memory.
func decodeHead(data []byte) (h head, err error) {
	if len(data) < 2 || data[0] != version {
		return h, errGarbled
	}
	if data[1] != answered {
		return h, errRefused
	}
	r := reader{rest: data[2:]}
	h.age = time.Duration(r.varint())
	h.behind = time.Duration(r.varint())
	h.took = time.Duration(r.varint())
	h.sharing = r.varint()
	h.version.Seq = r.uvarint()
	h.version.Time = r.varint()
	h.total = r.varint()
	n := r.uvarint()
	if r.garbled || h.total < 0 || h.sharing < 1 || h.sharing > maxAskers || n > uint64(len(r.rest)) { // a row has more than one byte
		return h, errGarbled
	}
	h.entries = make([]rankcore.Entry, n)
	names := string(r.rest) // one copy for all names
	for i := range h.entries {
		e := &h.entries[i]
		e.Rank = r.varint()
		e.Score = rankcore.Score(r.varint())
		e.Arrival = rankcore.Arrival(r.uvarint())
		e.User = rankcore.UserID(r.bytes(names))
	}
	if r.garbled || len(r.rest) > 0 {
		return h, errGarbled
	}
	return h, nil
}

// reader reads numbers one after another. What follows something garbled is zero.
type reader struct {
	rest    []byte
	garbled bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.skip(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.garbled, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}

// bytes are a length and so many bytes, as a part of whole, which ends where rest does.
func (r *reader) bytes(whole string) string {
	n := r.uvarint()
	if r.garbled || n > uint64(len(r.rest)) {
		r.garbled, r.rest = true, nil
		return ""
	}
	from := len(whole) - len(r.rest)
	r.rest = r.rest[n:]
	return whole[from : from+int(n)]
}
