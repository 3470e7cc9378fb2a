package main

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"rankgate/gateway"
)

const (
	watchEvery  = 5 * time.Second
	watchWithin = 2 * time.Second
)

// storeWatch asks a store for its settings now and then, so that /readyz can tell without waiting for it.
type storeWatch struct {
	check func(ctx context.Context) error // nil: the store is in this process and always there
	log   *slog.Logger
	found atomic.Pointer[gateway.Dependency]
}

func (w *storeWatch) state() gateway.Dependency {
	switch found := w.found.Load(); {
	case w.check == nil:
		return gateway.Dependency{State: gateway.OK}
	case found == nil:
		return gateway.Dependency{State: gateway.Degraded, Detail: "not asked yet"}
	default:
		return *found
	}
}

// run asks until ctx ends. What changes is logged.
func (w *storeWatch) run(ctx context.Context) error {
	if w.check == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *storeWatch) look(ctx context.Context) {
	bound, cancel := context.WithTimeout(ctx, watchWithin)
	defer cancel()
	now := gateway.Dependency{State: gateway.OK}
	if err := w.check(bound); err != nil {
		now = gateway.Dependency{State: gateway.Degraded, Detail: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	if ctx.Err() != nil {
		return // the question was called off, not answered
	}
	if was := w.state(); was.State != now.State || was.Detail != now.Detail {
		if now.State == gateway.OK {
			w.log.Info("the store is as it should be")
		} else {
			w.log.Warn("the store is not as it should be", "cause", now.Detail)
		}
	}
	w.found.Store(&now)
}
