package gateway

import (
	"encoding/json"
	"errors"
	"time"

	"rankgate/rankcore"
)

// kept is an answer that is remembered for its repetition, byte for byte, with what its headers follow from.
type kept struct {
	Status rankcore.Status `json:"status"`
	Reason rankcore.Reason `json:"reason,omitempty"`
	AsOf   int64           `json:"as_of"` // Unix milliseconds
	Tag    string          `json:"etag"`
	Body   string          `json:"body"`
}

// keep is f, the answer about m, to be remembered.
func (f *form) keep(m *rankcore.Meta) []byte {
	text, err := json.Marshal(kept{m.Status, m.Reason, m.AsOf.UnixMilli(), string(f.tag), string(f.body)})
	if err != nil { // strings and integers only
		panic(err)
	}
	return text
}

var errKept = errors.New("a kept answer is not one that this version writes")

// keptForm is an answer that was remembered, and what it says of itself.
func keptForm(text []byte) (*form, *rankcore.Meta, error) {
	var k kept
	if json.Unmarshal(text, &k) != nil || k.Tag == "" {
		return nil, nil, errKept
	}
	return &form{body: []byte(k.Body), tag: []byte(k.Tag)},
		&rankcore.Meta{Status: k.Status, Reason: k.Reason, AsOf: time.UnixMilli(k.AsOf)}, nil
}
