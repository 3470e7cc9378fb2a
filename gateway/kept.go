package gateway

import (
	"encoding/json"
	"errors"
	"time"

	"rankgate/rankcore"
)

// kept is an answer that is remembered for its repetition, byte for byte, with what its headers follow from.
type kept struct {
	Status  rankcore.Status `json:"status"`
	Reason  rankcore.Reason `json:"reason,omitempty"`
	AsOf    int64           `json:"as_of"` // Unix milliseconds
	Version string          `json:"version"`
	From    int             `json:"from"` // where the value of as_of stands in the body
	To      int             `json:"to"`
	Body    string          `json:"body"`
}

// keepAnswer is the answer that e holds, to be remembered.
func keepAnswer(m *rankcore.Meta, e *encoder) []byte {
	text, err := json.Marshal(kept{m.Status, m.Reason, m.AsOf.UnixMilli(), m.Version.String(), e.asOf, e.asOfEnd, string(e.buf)})
	if err != nil { // strings and integers only
		panic(err)
	}
	return text
}

var errKept = errors.New("a kept answer is not one that this version writes")

// keptAnswer makes e hold an answer that was remembered, and returns what it says of itself.
func (e *encoder) keptAnswer(text []byte) (*rankcore.Meta, error) {
	var k kept
	if json.Unmarshal(text, &k) != nil {
		return nil, errKept
	}
	version, err := rankcore.ParsePosition(k.Version)
	if err != nil || k.From < 0 || k.From > k.To || k.To > len(k.Body) {
		return nil, errKept
	}
	e.buf, e.asOf, e.asOfEnd = append(e.buf[:0], k.Body...), k.From, k.To
	return &rankcore.Meta{Status: k.Status, Reason: k.Reason, AsOf: time.UnixMilli(k.AsOf), Version: version}, nil
}
