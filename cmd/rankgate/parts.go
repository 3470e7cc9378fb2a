package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// part is something that runs until its context ends.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// stopAllWithin bounds the stop of all parts. What is left then is cut off by the end of the process: it costs
// a longer way through the log at the next start, and no acknowledged write.
const stopAllWithin = 9 * time.Second

type ended struct {
	part int
	err  error
}

// runParts runs all parts until ctx ends or one of them does, then stops them one by one in reverse order, so
// that whatever a part still needs is there while it stops. It returns what the first part to end by itself ended with.
func runParts(ctx context.Context, parts []part, log *slog.Logger) error {
	ends := make(chan ended, len(parts))
	stops := make([]context.CancelFunc, len(parts))
	for i, p := range parts {
		var own context.Context
		own, stops[i] = context.WithCancel(context.WithoutCancel(ctx))
		defer stops[i]()
		go func() { ends <- ended{i, p.run(own)} }()
	}
	over := make([]bool, len(parts))
	var failure error
	select {
	case <-ctx.Done():
	case e := <-ends:
		over[e.part] = true
		failure = fmt.Errorf("%s: %w", parts[e.part].name, orUnasked(e.err))
	}
	deadline := time.NewTimer(stopAllWithin)
	defer deadline.Stop()
	for i := len(parts) - 1; i >= 0; i-- {
		stops[i]()
		for !over[i] {
			select {
			case e := <-ends:
				over[e.part] = true
				if e.err != nil {
					log.Error("stopped with an error", "part", parts[e.part].name, "cause", e.err)
				}
			case <-deadline.C:
				log.Warn("not everything stopped in time; the log has what was acknowledged", "part", parts[i].name)
				return failure
			}
		}
	}
	return failure
}

var errEnded = errors.New("ended unasked")

// orUnasked is err, or a word for a part that ended without one.
func orUnasked(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}
