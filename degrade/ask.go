package degrade

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rankgate/rankcore"
)

// ask puts one question to the core, if the gate and the board's breaker let it through. The breaker is
// answered within the deadline even when the source hangs, so a half-open breaker cannot wedge; the hung
// question keeps its place at the gate until it returns.
func ask[T any](ctx context.Context, g *Guard, board rankcore.BoardID, question func(context.Context) (*T, error)) (*T, error) {
	b := g.breaker(board)
	var answer *T
	err := b.run(func() error {
		if !g.gate.enter(ctx) {
			if ctx.Err() != nil {
				return errAbandoned
			}
			g.metrics.shed.Inc()
			return errShed
		}
		// The caller's cancellation is watched here, not passed on: to the core it would look like a fault.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.timeout)
		defer cancel()
		answered := make(chan reply[T], 1)
		entered := time.Now()
		go func() {
			r := safely(limited, g.log, question)
			g.gate.leave(time.Since(entered), healthy(r.err))
			answered <- r
		}()
		select {
		case r := <-answered:
			answer = r.value
			return r.err
		case <-limited.Done():
			return &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: limited.Err()}
		case <-ctx.Done():
			return errAbandoned
		}
	})
	g.metrics.asked(err)
	return answer, err
}

type reply[T any] struct {
	value *T
	err   error
}

// safely keeps a panic of the source, which runs on a goroutine of its own, from ending the process.
func safely[T any](ctx context.Context, log *slog.Logger, question func(context.Context) (*T, error)) (r reply[T]) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("the core panicked", "panic", p)
			r = reply[T]{err: &rankcore.Unavailable{Reason: rankcore.CoreDown, Cause: fmt.Errorf("panic: %v", p)}}
		}
	}()
	value, err := question(ctx)
	return reply[T]{value, err}
}

// reasonOf is what an answer says when the core gave err.
func reasonOf(err error) rankcore.Reason {
	var unavailable *rankcore.Unavailable
	switch {
	case errors.As(err, &unavailable) && unavailable.Reason != "":
		return unavailable.Reason
	case errors.Is(err, context.DeadlineExceeded):
		return rankcore.CoreSlow
	default:
		return rankcore.CoreDown
	}
}
