package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// A Writer makes operations durable. Safe for concurrent use. Append returns within ctx's deadline. When it
// fails nothing was stored, or that is not known: the same operations, with the same ids, may be sent again.
type Writer interface {
	Append(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) (Receipt, error)
}

// Receipt says where in the log operations are.
type Receipt struct {
	Position string            // the write position, as callers see it
	Name     rankcore.Position // the log message's name, to wait for
}

// errAppend marks whatever a Writer failed with.
var errAppend = errors.New("append")

// appendTimeout bounds how long a write waits for the log.
const appendTimeout = 5 * time.Second

// postScores answers POST /v1/boards/{board}/scores.
func (g *Gateway) postScores(c *fiber.Ctx) error {
	return g.write(c, func(b *rankcore.Board) ([]rankcore.Op, error) {
		if err := wantJSON(c); err != nil {
			return nil, err
		}
		return rankcore.ParseOps(b, c.Body(), time.Now())
	})
}

// written is the answer to a write.
type written struct {
	Accepted int                `json:"accepted"`
	Position string             `json:"position"`
	Applied  *bool              `json:"applied,omitempty"` // only when that was waited for
	Results  []rankcore.Outcome `json:"results,omitempty"`
}

// write is every write: who, where, what, into the log, and if asked, until it is applied.
func (g *Gateway) write(c *fiber.Ctx, read func(*rankcore.Board) ([]rankcore.Op, error)) error {
	key, err := g.keys.writer(&c.Request().Header)
	if err != nil {
		return err
	}
	k, err := g.calendar(c)
	if err != nil {
		return err
	}
	var p params
	if err := p.read(c, []string{"wait"}); err != nil {
		return err
	}
	b, wait := k.board, p.get("wait")
	if wait != "" && wait != "applied" {
		return badRequest.because("wait is applied, or is left out")
	}
	ops, err := read(b)
	if err != nil {
		return err
	}
	var due *results
	if wait != "" {
		due = g.expect(b, ops)
	}
	nameOps(ops)
	receipt, err := g.append(b, ops)
	if err != nil {
		return err
	}
	g.metrics.accepted.WithLabelValues(key).Add(float64(len(ops)))
	answer := written{Accepted: len(ops), Position: receipt.Position}
	status := fiber.StatusAccepted
	if wait != "" {
		outcomes, applied := g.await(b, ops, receipt, due)
		answer.Applied, answer.Results = &applied, outcomes
		if applied {
			status = fiber.StatusOK
		}
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return sendJSON(c.Status(status), answer)
}

// nameOps gives every operation without an id a random one. The log is told it, so a copy that a retry makes
// on the way counts once.
func nameOps(ops []rankcore.Op) {
	var raw [12]byte // 96 bits, as many as the id memory keeps
	for i := range ops {
		if ops[i].ID == "" {
			_, _ = rand.Read(raw[:]) // never fails
			ops[i].ID = base64.RawURLEncoding.EncodeToString(raw[:])
		}
	}
}

// append hands ops to the log. The caller's connection does not matter to it: an append that was begun is
// better known than given up.
func (g *Gateway) append(b *rankcore.Board, ops []rankcore.Op) (Receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), appendTimeout)
	defer cancel()
	receipt, err := g.cfg.Writer.Append(ctx, b, ops)
	if err != nil {
		return Receipt{}, fmt.Errorf("%w of %d operations: %w", errAppend, len(ops), err)
	}
	return receipt, nil
}
