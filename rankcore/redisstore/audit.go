package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rankgate/rankcore"
)

// Audit recounts the segments of a shard from its members, in every season, and asks where it is and whether it is
// whole. With repair it also puts segment counts right, each in the same moment in which it was counted. A shard
// that is not whole is not touched otherwise: the log can feed it, and Audit cannot.
//
// It takes the store about 3 us for each segment, of which a season of a shard has some hundreds, in calls of about
// 1 ms, however many members there are. It fails when the shard does not answer; what it repaired until then is repaired.
func (s *Store) Audit(ctx context.Context, b *rankcore.Board, shard int, repair bool) (rankcore.Audit, error) {
	a := rankcore.Audit{Shard: shard}
	seasons, err := s.seasonsOf(ctx, b, shard)
	for _, season := range seasons {
		if err == nil {
			err = s.auditSeason(ctx, b, season, repair, &a)
		}
	}
	if err == nil {
		err = s.whereabouts(ctx, b, &a)
	}
	if err != nil {
		return a, fmt.Errorf("auditing shard %d of board %s: %w", shard, b.ID, err)
	}
	return a, nil
}

// seasonsOf are the seasons that a shard's meta names.
func (s *Store) seasonsOf(ctx context.Context, b *rankcore.Board, shard int) ([]rankcore.SeasonID, error) {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	fields, err := s.steps.HKeys(ctx, prefix(b, shard)+"meta").Result()
	if err != nil {
		return nil, err
	}
	slices.Sort(fields)
	var seasons []rankcore.SeasonID
	for _, field := range fields {
		if id, ok := strings.CutPrefix(field, seasonField("")); ok {
			seasons = append(seasons, rankcore.SeasonID(id))
		}
	}
	return seasons, nil
}

// whereabouts asks where a.Shard is, and whether it is whole.
func (s *Store) whereabouts(ctx context.Context, b *rankcore.Board, a *rankcore.Audit) error {
	r := s.step(ctx, auditScript, []call{{shardKeys(b, a.Shard), []any{layout(b)}}})[0]
	if r.err == nil && r.word == "damaged" && len(r.rest) == 1 {
		if !a.Damaged() {
			a.Drift = append(a.Drift, rankcore.Drift{Kind: rankcore.DriftDamage, Detail: text(r.rest[0])})
		}
		return nil
	}
	res := s.result(ctx, b, a.Shard, r)
	a.At = res.At
	return res.Err
}
