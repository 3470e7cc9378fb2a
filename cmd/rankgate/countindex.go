package main

import (
	"rankgate/cmd/rankgate/internal/config"
	"rankgate/rankcore/countindex"
	"rankgate/rankcore/ingest"
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

// indexedShards is the store as appliers are to have it.
func indexedShards(store ingest.Shards, index *countindex.Index) ingest.Shards {
	if index == nil {
		return store
	}
	return index.Follow(store)
}
