package rankcore

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// OpKind is what an operation does.
type OpKind uint8

// The kinds of operation.
const (
	OpAdd    OpKind = iota // add Value to the score; a user without one starts at 0
	OpSet                  // the score becomes Value
	OpBest                 // the score becomes Value if that is better by the board's order, or the first
	OpRemove               // the user is gone from every season; a later operation starts anew
	OpHide                 // the user is out of ranks, counts and lists, and keeps its scores
	OpShow                 // the user is back with its scores and what was added meanwhile
)

var opKinds = []string{OpAdd: "add", OpSet: "set", OpBest: "best", OpRemove: "remove", OpHide: "hide", OpShow: "show"}

func (k OpKind) String() string { return nameOf(opKinds, k) }

// HasValue reports whether operations of this kind carry a score.
func (k OpKind) HasValue() bool { return k <= OpBest }

// Limits of an operation.
const (
	MaxOpIDBytes = 64
	MaxOps       = 1000           // in one request and in one log message
	MaxAhead     = 24 * time.Hour // how far At may lie after the time the operation is stored
)

// Op is one change to one user.
type Op struct {
	ID    string // told apart per board and user; "" never repeats
	User  UserID
	Kind  OpKind
	Value Score
	At    time.Time // when it happened; zero: when the log stored it
}

// OpKey names an operation of a user in the id memory: 96 bits of SHA-256 over user and id.
type OpKey [12]byte

// Key is the operation's name in the id memory. It means nothing for an operation without ID.
func (o *Op) Key() OpKey {
	buf := make([]byte, 0, 128)
	buf = binary.AppendUvarint(buf, uint64(len(o.User)))
	buf = append(append(buf, o.User...), o.ID...)
	sum := sha256.Sum256(buf)
	return OpKey(sum[:12])
}

// Digest is 32 bits over what the operation does, to tell a repeated operation from another one that
// wears the same id.
func (o *Op) Digest() uint32 {
	var buf [17]byte
	buf[0] = byte(o.Kind)
	binary.BigEndian.PutUint64(buf[1:], uint64(o.Value))
	if !o.At.IsZero() {
		binary.BigEndian.PutUint64(buf[9:], uint64(o.At.UnixMilli()))
	}
	sum := sha256.Sum256(buf[:])
	return binary.BigEndian.Uint32(sum[:4])
}

// Outcome is what became of an operation. Its values are stored: never renumber them.
type Outcome uint8

// The outcomes.
const (
	OutcomeUnknown Outcome = iota // not taken in, or no longer remembered
	Applied                       // it changed something
	Unchanged                     // it was right and changed nothing: add 0, a worse best, the same score, too late
	OutOfRange                    // the sum would leave ±MaxScore in some season; it changed nothing anywhere
	Duplicate                     // the same id and content within the horizon; it changed nothing
	Conflict                      // the same id with other content within the horizon; it changed nothing
)

var outcomes = []string{"unknown", "applied", "unchanged", "out_of_range", "duplicate", "conflict"}

func (o Outcome) String() string { return nameOf(outcomes, o) }

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
