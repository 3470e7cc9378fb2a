package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"rankgate/degrade"
	"rankgate/gateway"
	"rankgate/rankcore/redisstore"
)

const (
	watchEvery  = 5 * time.Second
	watchWithin = 2 * time.Second
)

// storeWatch asks a store for its settings now and then, so that /readyz can tell without waiting for it.
type storeWatch struct {
	check func(ctx context.Context) error // nil: the store is in this process and always there
	parts func() []degrade.PartState      // what readers found of nodes and sick shards
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

// describe puts the store into what /readyz tells: as a whole, and each part by itself. Parts are numbered in the order of
// their addresses, which are for the log and the metrics: anybody may ask /readyz.
func (w *storeWatch) describe(out map[string]gateway.Dependency) {
	out["store"] = w.state()
	if w.parts == nil {
		return
	}
	nodes := 0
	for _, p := range w.parts() {
		var name string
		if _, shard, sick := strings.Cut(p.Name, " "); sick {
			name = "store shard " + shard
		} else {
			nodes++
			name = fmt.Sprintf("store node %d", nodes)
		}
		out[name] = partHealth(p)
	}
	if nodes == 1 {
		const only = "store node 1"
		out["store"], out[only] = sameNode(out["store"], out[only])
	}
}

// sameNode is what is told of a store and of its only node, which are one. The look at the store comes every few seconds, and
// what readers found of the node needs readers: either may know first that it does not answer.
func sameNode(store, node gateway.Dependency) (gateway.Dependency, gateway.Dependency) {
	switch {
	case store.State == gateway.Down && node.State == gateway.OK:
		return store, store
	case store.State == gateway.OK && node.State != gateway.OK:
		return node, node
	}
	return store, node
}

func partHealth(p degrade.PartState) gateway.Dependency {
	switch {
	case p.Reason == "":
		return gateway.Dependency{State: gateway.OK}
	case p.Trying:
		return gateway.Dependency{State: gateway.Degraded, Detail: "is being tried again after " + string(p.Reason)}
	}
	return gateway.Dependency{State: gateway.Down, Detail: "is not asked, because of " + string(p.Reason)}
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
	err := w.check(bound)
	if ctx.Err() != nil {
		return // the question was called off, not answered
	}
	now := dependencyOf(err)
	if was := w.state(); was.State != now.State || was.Detail != now.Detail {
		if now.State == gateway.OK {
			w.log.Info("the store is as it should be")
		} else {
			w.log.Warn("the store is not as it should be", "cause", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	w.found.Store(&now)
}

// refuse fails when the store answers and must not hold the boards as it is. One that is away is waited for.
func (w *storeWatch) refuse(ctx context.Context) error {
	if w.check == nil {
		return nil
	}
	bound, cancel := context.WithTimeout(ctx, watchWithin)
	defer cancel()
	var unfit *redisstore.Unfit
	if err := w.check(bound); errors.As(err, &unfit) {
		return fmt.Errorf("the store cannot be used: %w", err)
	}
	return nil
}

// dependencyOf is what /readyz says of the store. Its addresses are for the log: anybody may ask /readyz.
func dependencyOf(err error) gateway.Dependency {
	var unfit *redisstore.Unfit
	var away *redisstore.Away
	var network net.Error
	switch {
	case err == nil:
		return gateway.Dependency{State: gateway.OK}
	case errors.As(err, &away):
		return gateway.Dependency{State: gateway.Degraded, Detail: fmt.Sprintf("%d of %d nodes do not answer", away.Nodes, away.Of)}
	case errors.As(err, &unfit):
		return gateway.Dependency{State: gateway.Degraded, Detail: unfit.Why}
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return gateway.Dependency{State: gateway.Down, Detail: "does not answer in time"}
	case network != nil:
		return gateway.Dependency{State: gateway.Down, Detail: "cannot be reached"}
	}
	return gateway.Dependency{State: gateway.Down, Detail: strings.ReplaceAll(err.Error(), "\n", "; ")}
}
