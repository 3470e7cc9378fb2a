package main

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/rankcore"
	"rankgate/rankcore/aggregate"
	"rankgate/rankcore/countindex"
	"rankgate/rankcore/ingest"
	"rankgate/rankcore/redisstore"
)

// openIndex is nil in a process that applies nothing, and where the store is in this process and counts by itself.
func (e *edge) openIndex(leases *ingest.Leases) *countindex.Index {
	if e.cfg.Role == config.RoleGateway || e.cfg.StoreURL == config.Embedded {
		return nil
	}
	return countindex.New(countindex.Config{Boards: e.cfg.Boards, Leads: leases.Holds, Logger: e.log, Registerer: e.reg})
}

// auditedIndex is what an auditor is to compare with the shards: nothing where this process has no index.
func auditedIndex(store coreStore, index *countindex.Index) ingest.AuditedIndex {
	segmented, ok := store.(countindex.Segmented)
	if index == nil || !ok {
		return nil
	}
	return index.Against(segmented)
}

// indexNews says what a board's exact ranks wait for, by its count index; it is empty when that is ready or there is none.
func indexNews(index *countindex.Index) func(*rankcore.Board) string {
	return func(b *rankcore.Board) string {
		if index == nil {
			return ""
		}
		st := index.State(b.ID)
		if st.Ready {
			return ""
		}
		return fmt.Sprintf("exact ranks are slower, as the count index is not ready: %s; %d members of %d of %d shards are counted",
			st.Why, st.Members, st.Scanned, b.Shards)
	}
}

// indexedShards is the store as appliers are to have it.
func indexedShards(store ingest.Shards, index *countindex.Index) ingest.Shards {
	if index == nil {
		return store
	}
	return index.Follow(store)
}

// openCounter is who tells the store how many members stand where: the index of this process, or the core's that
// applies the board.
func (e *edge) openCounter(index *countindex.Index, leases *ingest.Leases, casts *nats.Conn) redisstore.Counter {
	switch {
	case e.cfg.StoreURL == config.Embedded:
		return nil
	case alone(e.cfg):
		return index
	}
	cfg := aggregate.CounterConfig{Conn: casts, Boards: e.cfg.Boards, Shards: shardsOf(e.cfg), Logger: e.log, Registerer: e.reg}
	if index != nil {
		cfg.Own, cfg.Leads = index, leases.Holds
	}
	return aggregate.NewCounter(cfg)
}
