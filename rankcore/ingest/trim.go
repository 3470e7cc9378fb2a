package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

const (
	// trimEvery is how often old messages are looked for.
	trimEvery = time.Minute
	// appliedFor is how long an applier's word holds that its shards are where it said.
	appliedFor = 10 * time.Second
	// crowded is the share of MaxBytes, in percent, above which applied messages go before their retention ends.
	crowded = 90
	// keepCrowded is what stays even then: what a store that is set back by a restart or a failover reads again.
	keepCrowded = 10 * time.Minute
)

// trimmer drops messages that are older than the retention and that every shard of every board has taken in.
// The server's own MaxAge would drop what has not been taken in. Only a process that knows of every board how far
// its shards are trims: because it applies the board, or because the core says so that does.
type trimmer struct {
	log *Log

	last time.Time // when old messages were last looked for; upkeep's

	// mu guards applied.
	mu      sync.Mutex
	applied map[rankcore.BoardID]appliedAt
}

type appliedAt struct {
	lowest rankcore.Position // of the board's shards, all of which were where the applier expects them
	heard  time.Time
	own    bool // it is this process's applier that says so
}

// report is an applier's word that all shards of its board are at lowest or above. own: it is one of this process.
func (t *trimmer) report(id rankcore.BoardID, lowest rankcore.Position, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.applied == nil {
		t.applied = map[rankcore.BoardID]appliedAt{}
	}
	t.applied[id] = appliedAt{lowest: lowest, heard: time.Now(), own: own}
}

// own is what this process's applier has just said of its board; none when it has not.
func (t *trimmer) own(id rankcore.BoardID, now time.Time) rankcore.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.applied[id]; a.own && now.Sub(a.heard) <= 2*beats*beatEvery {
		return a.lowest
	}
	return rankcore.Position{}
}

// applies reports whether this process is a core: a gateway hears of no applier.
func (t *trimmer) applies() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.applied) > 0
}

// lowest is the position that every shard of every board has reached, if that is known now.
func (t *trimmer) lowest(now time.Time) (rankcore.Position, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var low rankcore.Position
	for i, b := range t.log.cfg.Boards {
		a, ok := t.applied[b.ID]
		if !ok || now.Sub(a.heard) > appliedFor || a.lowest.IsNone() {
			return rankcore.Position{}, false
		}
		if i == 0 || a.lowest.Seq < low.Seq {
			low = a.lowest
		}
	}
	return low, !low.IsNone()
}

// trim drops what may go. The message at a shard's position always stays, to prove the position with.
func (t *trimmer) trim(ctx context.Context, v view) error {
	now := time.Now()
	full := float64(v.bytes) >= float64(t.log.cfg.MaxBytes)*crowded/100
	if !full && now.Sub(t.last) < trimEvery || v.empty {
		return nil
	}
	t.last = now
	low, ok := t.lowest(now)
	if !ok {
		return nil
	}
	keep := t.log.cfg.Retention
	if full {
		keep = min(keep, keepCrowded)
	}
	young, err := t.log.stream.firstSince(ctx, v.at.Add(-keep))
	if err != nil {
		return err
	}
	before := min(young, low.Seq)
	if before <= v.first {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	st, err := t.log.stream.js.Stream(ctx, StreamName)
	if err == nil {
		err = st.Purge(ctx, jetstream.WithPurgeSequence(before))
	}
	if err != nil {
		return fmt.Errorf("drop old messages: %w", err)
	}
	t.log.metrics.trimmed.Add(float64(before - v.first))
	t.log.cfg.Logger.Info("dropped messages that are old and applied everywhere", "before", before, "crowded", full)
	return nil
}
