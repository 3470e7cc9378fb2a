package main

import (
	"context"
	"fmt"
	"time"

	"rankgate/gateway"
	"rankgate/gateway/identity"
	"rankgate/rankcore"
	"rankgate/rankcore/ingest"
)

// health tells /readyz how everything is. It asks what is known already, and one answer of each board.
type health struct {
	boards   []*rankcore.Board
	log      func() ingest.Health
	store    *storeWatch
	appliers map[rankcore.BoardID]func() ingest.ApplierStatus            // of this process
	index    func(*rankcore.Board) string                                // what its exact ranks wait for; nil without appliers
	progress func(rankcore.BoardID) (rankcore.Progress, time.Time, bool) // what is heard of all; nil in a core
	reader   rankcore.Reader                                             // nil in a core
	issuers  map[string]func() identity.KeyState                         // of tokens, by what /readyz calls them
}

// logHealth is what the log knows of itself, and of the server in this process, which may be nil.
func logHealth(oplog *ingest.Log, server *ingest.Server) func() ingest.Health {
	return func() ingest.Health {
		h := oplog.Health()
		if server != nil && server.Broken() {
			h.Detail = "its disk takes nothing, so writes are refused: make room, and it goes on by itself"
		}
		return h
	}
}

// silentFor is how long a board's applier may say nothing before it counts as down.
const silentFor = 5 * time.Second

func (h *health) check(ctx context.Context) gateway.Health {
	out := gateway.Health{Ready: h.reader == nil, Dependencies: map[string]gateway.Dependency{
		"log":     h.logState(),
		"applier": h.applierState(),
	}}
	h.store.describe(out.Dependencies)
	for name, keys := range h.issuers {
		out.Dependencies[name] = issuerState(keys())
	}
	for _, b := range h.boards {
		if h.reader != nil && canShow(ctx, h.reader, b) {
			out.Ready = true
		}
	}
	return out
}

// issuerState is about who publishes the keys that tokens are judged by.
func issuerState(keys identity.KeyState) gateway.Dependency {
	switch keys {
	case identity.KeysUnknown:
		return gateway.Dependency{State: gateway.Down, Detail: "its keys were never read, so no token can be judged"}
	case identity.KeysOld:
		return gateway.Dependency{State: gateway.Degraded, Detail: "its keys cannot be read; those known before go on counting"}
	case identity.KeysKnown:
	}
	return gateway.Dependency{State: gateway.OK}
}

// canShow reports whether there is any answer for the board's default season, however old.
func canShow(ctx context.Context, r rankcore.Reader, b *rankcore.Board) bool {
	season, err := b.ParseSeason("", time.Now())
	if err != nil {
		return false
	}
	page, err := r.Top(ctx, rankcore.TopQuery{Board: b, Season: season.ID, Limit: 1})
	return err == nil && page.Status != rankcore.Updating
}

func (h *health) logState() gateway.Dependency {
	l := h.log()
	d := gateway.Dependency{State: gateway.OK, Detail: l.Detail, Durability: string(l.Durability)}
	switch {
	case !l.Reachable:
		d.State = gateway.Down
	case l.Full || l.Detail != "":
		d.State = gateway.Degraded
	}
	return d
}

// applierState is about the appliers of this process, or about what is heard of them elsewhere.
func (h *health) applierState() gateway.Dependency {
	worst := gateway.Dependency{State: gateway.OK}
	for _, b := range h.boards {
		d := h.boardState(b)
		switch {
		case d.State == gateway.OK && worst.State == gateway.OK && d.Detail != "":
			worst.Detail = fmt.Sprintf("board %s: %s", b.ID, d.Detail)
		case d.State != gateway.OK:
			d.Detail = fmt.Sprintf("board %s: %s", b.ID, d.Detail)
			if worst.State != gateway.Down {
				worst = d
			}
		}
	}
	return worst
}

func (h *health) boardState(b *rankcore.Board) gateway.Dependency {
	var s ingest.ApplierStatus
	status, here := h.appliers[b.ID]
	if here {
		s = status()
	}
	var p rankcore.Progress
	switch {
	case here && !s.StandsBy:
		p = rankcore.Progress{CaughtUp: s.CaughtUp, Rebuild: s.Rebuild, LogLost: s.LogLost}
		for state, n := range s.Shards {
			if state != "following" {
				p.ShardsOut += n
			}
		}
	case h.progress == nil:
		return gateway.Dependency{State: gateway.OK, Detail: "stands by while another core applies it"}
	default:
		heard, at, ok := h.progress(b.ID)
		if !ok || time.Since(at) > silentFor {
			return gateway.Dependency{State: gateway.Down, Detail: "no applier is heard"}
		}
		p = heard
	}
	switch {
	case p.Rebuild > 0:
		return gateway.Dependency{State: gateway.Degraded, Detail: fmt.Sprintf("rebuild needed: the log no longer reaches back to %d shards; `rankgate verify --help` tells the way out", p.Rebuild)}
	case p.LogLost:
		return gateway.Dependency{State: gateway.Degraded, Detail: "the log has lost operations that were acknowledged"}
	case p.CaughtUp.IsZero():
		return gateway.Dependency{State: gateway.Degraded, Detail: "reading the log"}
	case p.ShardsOut > 0:
		return gateway.Dependency{State: gateway.Degraded, Detail: fmt.Sprintf("%d shards do not follow", p.ShardsOut)}
	case here && !s.StandsBy:
		return gateway.Dependency{State: gateway.OK, Detail: h.index(b)}
	}
	return gateway.Dependency{State: gateway.OK}
}
