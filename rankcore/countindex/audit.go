package countindex

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Segmented is the store whose shards an index is held against.
type Segmented interface {
	// Segments are the members of a season by segment as each shard counts them, in order.
	Segments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID) ([]rankcore.ShardSegments, error)
}

// Auditor holds an index against the shards.
type Auditor struct {
	index *Index
	store Segmented
}

// Against returns what compares the index with the shards of a store.
func (x *Index) Against(store Segmented) Auditor { return Auditor{x, store} }

const (
	auditTries = 3
	// catchUp is how long the index may take to hear of the steps that shards had taken when they were read.
	catchUp = 2 * time.Second
)

// Audit compares how many members of each segment the index has of a board with what its shards count together, in
// every season that the index knows or that is on. With repair an index that differs is not asked any more, and is
// built anew. It finds nothing while the index is not ready, nor where the two could not be brought to the same
// steps; it fails when shards do not answer. Where members stand within a segment is not compared.
//
// It reads the segments of all shards, a millisecond or less of the store's time for each.
func (a Auditor) Audit(ctx context.Context, def *rankcore.Board, repair bool) (found []rankcore.Drift, err error) {
	b := a.index.boards[def.ID]
	if b == nil {
		return nil, nil
	}
	for _, season := range b.auditable(time.Now()) {
		d, err := a.season(ctx, b, season)
		if err != nil {
			return found, fmt.Errorf("comparing the count index of board %s with its shards: %w", b.ID, err)
		}
		if len(d.segments) == 0 {
			continue
		}
		lo, hi := rankcore.Segment(b.Order.Score(int64(d.segments[0]))).Bounds() // of keys; keys mirror scores or are scores
		found = append(found, rankcore.Drift{
			Kind: rankcore.DriftIndex, Season: season, Recorded: d.recorded, Counted: d.counted, Repaired: repair,
			Detail: fmt.Sprintf("segments of the count index: %d, the first with scores %d to %d", len(d.segments), lo, hi),
		})
	}
	if repair && len(found) > 0 {
		b.distrust()
	}
	return found, nil
}

// auditable are the seasons to compare.
func (b *board) auditable(now time.Time) []rankcore.SeasonID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	seasons := slices.Collect(maps.Keys(b.seasons))
	for _, kind := range b.Seasons {
		seasons = append(seasons, b.SeasonAt(kind, now).ID)
	}
	slices.Sort(seasons)
	return slices.Compact(seasons)
}

// season compares one season, and again where steps came too fast.
func (a Auditor) season(ctx context.Context, b *board, season rankcore.SeasonID) (d differing, err error) {
	for range auditTries {
		if !a.index.Ready(b.ID) {
			return d, nil
		}
		var v verdict
		if d, v, err = a.once(ctx, b, season); err == nil && v == counted || ctx.Err() != nil {
			return d, err
		}
	}
	return d, err
}

func (a Auditor) once(ctx context.Context, b *board, season rankcore.SeasonID) (d differing, v verdict, err error) {
	w := b.look(season)
	if w == nil {
		return d, notCounted, nil
	}
	defer b.lookAway(w)
	shards, err := a.store.Segments(ctx, b.Board, season)
	if err != nil {
		return d, notCounted, err
	}
	there := sum(shards)
	for bound := time.After(catchUp); ; {
		d, v, news := b.compare(w, shards, there)
		if v != wait {
			return d, v, nil
		}
		select {
		case <-news:
		case <-bound:
			return d, notCounted, nil
		case <-ctx.Done():
			return d, notCounted, ctx.Err()
		}
	}
}

// distrust has the index built anew.
func (b *board) distrust() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breakUp("it differed from the shards")
	b.tell()
}
