package memstore

import (
	"context"
	"maps"
	"slices"

	"rankgate/rankcore"
)

// Audit compares what a shard counts in every season with the members it holds. There are no counts to put right:
// what differs here is a fault of this process's memory or code, and only feeding the shard anew mends it.
//
// It holds the shard for reading while it looks at every key once, some 3 ms for a million members.
func (s *Store) Audit(ctx context.Context, b *rankcore.Board, shard int, _ bool) (rankcore.Audit, error) {
	if err := ctx.Err(); err != nil {
		return rankcore.Audit{Shard: shard}, err
	}
	bd, err := s.board(b)
	if err == nil && (shard < 0 || shard >= len(bd.shards)) {
		err = noShard(b, shard)
	}
	if err != nil {
		return rankcore.Audit{Shard: shard}, err
	}
	return bd.shards[shard].audit(), nil
}

func (s *shard) audit() rankcore.Audit {
	s.mu.RLock()
	defer s.mu.RUnlock()
	a := rankcore.Audit{Shard: s.index, At: s.position}
	found := func(season rankcore.SeasonID, recorded, counted int, what string) {
		a.Drift = append(a.Drift, rankcore.Drift{
			Kind: rankcore.DriftDamage, Season: season, Recorded: int64(recorded), Counted: int64(counted), Detail: what,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(s.seasons)) {
		se := s.seasons[id]
		a.Members += int64(se.ranked.size)
		c := census{}
		c.visit(se.ranked.root)
		switch {
		case c.entries != se.ranked.size:
			found(id, se.ranked.size, c.entries, "members differ from their count")
		case c.entries != se.byName.used:
			found(id, se.byName.used, c.entries, "members by name differ from members in order")
		case c.wrong != "":
			found(id, se.ranked.size, c.entries, c.wrong)
		}
		if n := s.strangers(se); n > 0 {
			found(id, len(se.aside), len(se.aside)-n, "scores are set aside of users who are not hidden")
		}
	}
	for _, b := range s.ids.buckets {
		if live := b.size - len(b.dead); live != b.index.used {
			found("", b.index.used, live, "id memory differs from its count")
		}
	}
	return a
}

// strangers are how many users of a season have a score aside and are not hidden.
func (s *shard) strangers(se *season) (n int) {
	for user := range se.aside {
		if _, hidden := s.hidden[user]; !hidden {
			n++
		}
	}
	return n
}

// census counts a tree's entries and holds them against what its nodes say.
type census struct {
	entries int
	last    int64 // the key seen last
	wrong   string
}

func (c *census) visit(at node) {
	switch {
	case at.leaf != nil:
		for _, key := range at.leaf.keys[:at.leaf.n] {
			if c.entries > 0 && key < c.last {
				c.wrong = "members are out of order"
			}
			c.last = key
			c.entries++
		}
	case at.inner != nil:
		for i, kid := range at.inner.kids[:at.inner.n] {
			before := c.entries
			if c.visit(kid); c.entries-before != int(at.inner.counts[i]) {
				c.wrong = "a count of a part of the members is wrong"
			}
		}
	}
}
