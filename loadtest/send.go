package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rankgate/rankcore"
)

// ErrRefused: the operations were refused for good and changed nothing; sending them again is of no use.
// Any other error of a Sender leaves it open whether they are in the log: send them again with the same ids.
var ErrRefused = errors.New("operations refused")

// Sender puts operations on a board. It returns nil only when they are acknowledged as durable.
type Sender interface {
	Send(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) error
}

var _ Sender = (*Client)(nil)

// Send posts operations and returns nil once they are acknowledged.
func (c *Client) Send(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) error {
	a, err := c.call(ctx, "POST", "/v1/boards/"+string(b.ID)+"/scores", appendBody(nil, b, ops))
	if err != nil {
		return err
	}
	switch {
	case a.status == 200 || a.status == 202:
		return accepted(a.body, len(ops))
	case a.status == 429 || a.status >= 500:
		return problemOf(a)
	default:
		return fmt.Errorf("%w: %w", ErrRefused, problemOf(a))
	}
}

// accepted checks that an acknowledgement is one: a proxy's empty 200 is not.
func accepted(body []byte, ops int) error {
	var got struct {
		Accepted int
		Position string
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	if got.Accepted != ops || got.Position == "" {
		return fmt.Errorf("%w: acknowledged %d of %d operations at position %q", ErrRefused, got.Accepted, ops, got.Position)
	}
	return nil
}

// appendBody appends the operations as POST .../scores takes them.
func appendBody(dst []byte, b *rankcore.Board, ops []rankcore.Op) []byte {
	dst = append(dst, `{"ops":[`...)
	for i, op := range ops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if op.ID != "" {
			dst = append(appendText(append(dst, `"id":`...), op.ID), ',')
		}
		dst = appendText(append(dst, `"user":`...), string(op.User))
		dst = fmt.Appendf(dst, `,"%v":`, op.Kind)
		if op.Kind.HasValue() {
			dst = rankcore.AppendScore(dst, op.Value, b.Scale)
		} else {
			dst = append(dst, "true"...)
		}
		if !op.At.IsZero() {
			dst = append(dst, `,"at":"`...)
			dst = append(op.At.UTC().AppendFormat(dst, time.RFC3339Nano), '"')
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return append(dst, text...)
}
