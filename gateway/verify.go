package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// A Verifier audits every shard of a board and hands each finding on, one at a time, in no order; an error with a
// finding says that this shard could not be audited. A finding for rankcore.AllShards is about the count index, and
// there is one only where it drifts or could not be compared. With repair it puts right what it can. It returns soon after
// ctx ends, and fails then or when what it compares with cannot be asked.
type Verifier interface {
	Verify(ctx context.Context, b *rankcore.Board, repair bool, each func(rankcore.Audit, error)) error
	// AcceptLoss lets shards that the log no longer reaches back to go on with what it still has, and tells how many.
	AcceptLoss(ctx context.Context, b *rankcore.Board) (int, error)
}

// verifyWithin bounds a verification: some seconds are normal, and nothing else can be verified here meanwhile.
const verifyWithin = 15 * time.Minute

// finding is one line of the answer: a shard, or the count index.
type finding struct {
	Shard    *int    `json:"shard,omitempty"` // nil: the index
	Position string  `json:"position,omitempty"`
	Members  int64   `json:"members"`
	Segments int     `json:"segments"`
	Drift    []drift `json:"drift"`
	Error    string  `json:"error,omitempty"` // it could not be audited
}

type drift struct {
	Kind     rankcore.DriftKind `json:"kind"`
	Season   rankcore.SeasonID  `json:"season,omitempty"`
	Recorded int64              `json:"recorded"`
	Counted  int64              `json:"counted"`
	Detail   string             `json:"detail"`
	Repaired bool               `json:"repaired"`
}

// verdict is the last line of the answer. Without it the answer was cut off.
type verdict struct {
	Done     bool   `json:"done"`   // every shard was looked at
	Shards   int    `json:"shards"` // that were audited
	Failed   int    `json:"failed"` // that could not be
	Members  int64  `json:"members"`
	Findings int    `json:"findings"`
	Repaired int    `json:"repaired"`
	Accepted int    `json:"accepted,omitempty"` // shards that go on without what the log no longer has
	Detail   string `json:"detail,omitempty"`
}

// verify answers POST /v1/boards/{board}/verify with a line of JSON for each shard as it is known, and one for a count
// index that drifts.
func (g *Gateway) verify(c *fiber.Ctx) error {
	if _, err := g.keys.writer(&c.Request().Header); err != nil {
		return err
	}
	k, err := g.calendar(c)
	if err != nil {
		return err
	}
	how, err := mendingOf(c)
	if err != nil {
		return err
	}
	if len(c.Request().Body()) > 0 { // flags in it would be taken for asked, and are not
		return badRequest.because("A verification takes no body: say repair=true and accept_loss=true in the query")
	}
	if !g.verifying.CompareAndSwap(false, true) {
		return verifyRunning.because("One board is verified at a time; try again when it is done.")
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Context().SetContentType("application/x-ndjson")
	conn := c.Context().Conn()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer g.verifying.Store(false)
		g.stream(k.board, how, conn, w)
	})
	return nil
}

// mending is what a verification may change.
type mending struct{ repair, acceptLoss bool }

func mendingOf(c *fiber.Ctx) (how mending, err error) {
	var p params
	if err := p.read(c, []string{"repair", "accept_loss"}); err != nil {
		return how, err
	}
	for name, on := range map[string]*bool{"repair": &how.repair, "accept_loss": &how.acceptLoss} {
		switch p.get(name) {
		case "true":
			*on = true
		case "", "false":
		default:
			return how, badRequest.because(name + " is true or false")
		}
	}
	if how.acceptLoss && !how.repair {
		return how, badRequest.because("accept_loss is part of a repair: say repair=true too")
	}
	return how, nil
}

// stream verifies b and writes the lines. It ends early when the caller is gone or the gateway stops.
func (g *Gateway) stream(b *rankcore.Board, how mending, conn net.Conn, w *bufio.Writer) {
	ctx, cancel := context.WithTimeout(g.waits, verifyWithin)
	defer cancel()
	line := func(v any) {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // each line has it anew; a dead connection fails below
		if json.NewEncoder(w).Encode(v) != nil || w.Flush() != nil {
			cancel()
		}
	}
	var sum verdict
	var err error
	if how.acceptLoss {
		sum.Accepted, err = g.cfg.Verifier.AcceptLoss(ctx, b)
	}
	if err == nil {
		err = g.cfg.Verifier.Verify(ctx, b, how.repair, func(a rankcore.Audit, err error) { line(sum.add(a, err)) })
	}
	sum.Done = err == nil
	if err != nil {
		sum.Detail = "the log could not be asked, or the verification was ended"
		g.log.Info("a verification was not finished", "board", b.ID, "cause", err)
	}
	line(sum)
}

// add takes a finding in and returns its line.
func (v *verdict) add(a rankcore.Audit, err error) finding {
	f := finding{Members: a.Members, Segments: a.Segments, Drift: []drift{}}
	if a.Shard != rankcore.AllShards {
		f.Shard = &a.Shard
	}
	if !a.At.IsNone() {
		f.Position = a.At.String()
	}
	for _, d := range a.Drift {
		f.Drift = append(f.Drift, drift(d))
		v.Findings++
		if d.Repaired {
			v.Repaired++
		}
	}
	if err != nil {
		f.Error = "the store or the log did not answer"
		v.Failed++
		return f
	}
	if f.Shard != nil {
		v.Shards++
		v.Members += a.Members
	}
	return f
}
