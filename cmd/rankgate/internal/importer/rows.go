// Package importer reads a file of users and scores, checks every row before the first is sent, and sends
// them to a running rankgate as set operations, best first, over its public HTTP API.
//
// It knows files and HTTP, and nothing of logs, stores or boards beyond what the API tells.
// It may import rankcore, for the words of scores and operations.
package importer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"rankgate/rankcore"
)

// place is where a row stands. Entries count the members of one JSON object, whose lines tell little.
type place struct{ line, entry uint32 }

func (p place) String() string {
	if p.entry > 0 {
		return fmt.Sprintf("line %d, entry %d", p.line, p.entry)
	}
	return fmt.Sprintf("line %d", p.line)
}

// RowError says which row is wrong and why.
type RowError struct {
	at  place
	err error
}

func (e *RowError) Error() string { return e.at.String() + ": " + e.err.Error() }

func (e *RowError) Unwrap() error { return e.err }

type row struct {
	user  rankcore.UserID
	score rankcore.Score
	at    place
}

// Rows are the checked rows of one file: every user once, every score one that the board takes.
type Rows struct {
	rows    []row
	digest  uint64                     // of users and scores, whatever their order and format
	skipped int                        // bad rows left out
	first   *RowError                  // the first of them
	seen    map[rankcore.UserID]uint32 // user -> index in rows; nil once all are read
	hash    *xxhash.Digest
	scale   int
	skipBad bool
}

// Len is the number of rows to send.
func (r *Rows) Len() int { return len(r.rows) }

// Skipped is the number of bad rows that were left out, and the first of them.
func (r *Rows) Skipped() (int, *RowError) { return r.skipped, r.first }

// add takes one row in. It fails on a bad row unless those are to be skipped.
func (r *Rows) add(user, score []byte, at place) error {
	value, err := rankcore.ParseScore(string(score), r.scale)
	if err != nil {
		return r.bad(at, fmt.Errorf("score: %w", err))
	}
	id, err := rankcore.ParseUserID(string(user))
	if err != nil {
		return r.bad(at, err)
	}
	if i, twice := r.seen[id]; twice {
		return r.bad(at, fmt.Errorf("the same user as on %s", r.rows[i].at))
	}
	r.seen[id] = uint32(len(r.rows))
	r.rows = append(r.rows, row{id, value, at})
	r.hash.Reset()
	_, _ = r.hash.WriteString(string(id)) // a hash never fails
	_, _ = r.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(value)))
	r.digest += r.hash.Sum64() // a sum, so that the same rows in another order are the same file
	return nil
}

// bad counts a row that is wrong, or fails with it.
func (r *Rows) bad(at place, err error) error {
	e := &RowError{at, err}
	if !r.skipBad {
		return e
	}
	if r.skipped++; r.first == nil {
		r.first = e
	}
	return nil
}

// sort puts the rows that stand first on the board first, so that its top is right early.
func (r *Rows) sort(o rankcore.Order) {
	slices.SortFunc(r.rows, func(a, b row) int { return cmp.Compare(o.Key(a.score), o.Key(b.score)) })
}

// opID is the id of every row's operation. The same file has the same, so a second run within the board's
// dedupe horizon cannot undo what happened to a score since the first.
func (r *Rows) opID() string { return fmt.Sprintf("import-%016x", r.digest) }
