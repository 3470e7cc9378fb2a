package main

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"rankgate/cachetier"
	"rankgate/cmd/rankgate/internal/config"
	"rankgate/gateway"
	"rankgate/invalidation"
	"rankgate/rankcore"
	"rankgate/rankcore/ingest"
)

// drain is how long /readyz says no before the listener closes, so that a balancer can look elsewhere first.
const drain = 500 * time.Millisecond

func (e *edge) add(name string, run func(context.Context) error) {
	e.parts = append(e.parts, part{name, run})
}

func (e *edge) onClose(f func()) { e.closes = append(e.closes, f) }

// close closes what was opened, newest first. Nothing may run any more.
func (e *edge) close() {
	for i := len(e.closes) - 1; i >= 0; i-- {
		e.closes[i]()
	}
}

func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// snapshotsDir is a folder for each log and store: what one of them held must not be shown as another's board.
func snapshotsDir(cfg *config.Config) string {
	core := config.MaskURL(cfg.Log.URL) + " " + config.MaskURL(cfg.StoreURL)
	return filepath.Join(cfg.Data, "snapshots", strconv.FormatUint(xxhash.Sum64String(core), 36))
}

// alone reports whether no other process can share this one's shards: they are in it, or only it has the log.
func alone(cfg *config.Config) bool {
	return cfg.StoreURL == config.Embedded || cfg.Log.URL == config.Embedded && cfg.Log.Listen == ""
}

// shardsOf names the shards of a store among processes on one NATS, which may have others.
func shardsOf(cfg *config.Config) string {
	return strconv.FormatUint(xxhash.Sum64String(config.MaskURL(cfg.StoreURL)), 36)
}

// tellers are told what an applier did, one after the other: what a gateway asks when it hears of a change must
// know of it already.
type tellers []ingest.Announcer

func (ts tellers) Announce(c rankcore.Change) {
	for _, t := range ts {
		t.Announce(c)
	}
}

func (ts tellers) Progress(p rankcore.Progress) {
	for _, t := range ts {
		t.Progress(p)
	}
}

func (ts tellers) Withdraw(id rankcore.BoardID) {
	for _, t := range ts {
		t.Withdraw(id)
	}
}

// beaconEvery is how often a beacon goes out: several times within the smallest freshness bound.
func beaconEvery(boards []*rankcore.Board) time.Duration {
	every := invalidation.DefaultEvery
	for _, b := range boards {
		every = min(every, b.Freshness/5)
	}
	return every
}

// evictor is the tier, for a listener that is made before it.
type evictor struct{ *cachetier.Tier }

// writer is the log as the gateway wants it.
type writer struct{ log *ingest.Log }

func (w writer) Append(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) (gateway.Receipt, error) {
	at, err := w.log.Append(ctx, b, ops)
	if err != nil {
		return gateway.Receipt{}, err
	}
	return gateway.Receipt{Position: at.String(), Name: at.Name}, nil
}
