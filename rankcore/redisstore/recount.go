package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"rankgate/rankcore"
)

var (
	compareScript = loadScript("compare", readOnly, "compare.lua")
	recountScript = loadScript("recount", readOnly, "shard.lua", "segment.lua", "recount.lua")
	repairScript  = loadScript("repair", "#!lua\n", "shard.lua", "segment.lua", "recount.lua")
)

// Segments that one call counts, so that no call keeps Redis for long: about 1 ms, or 4 ms where something differs.
const segmentsPerCall = 256

// auditSeason compares the segment counts of one season of a.Shard with its members.
func (s *Store) auditSeason(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, repair bool, a *rankcore.Audit) error {
	segments, members, even, err := s.compare(ctx, b, season, a.Shard)
	if err != nil {
		return err
	}
	if !even { // or it was written to since its segments were listed
		return s.recount(ctx, b, season, repair, a)
	}
	a.Segments += segments
	a.Members += members
	return nil
}

// compare counts the members of the segments that are recorded, and tells whether these counts are even: they equal
// what is recorded and leave no member out. Uneven counts convict nobody: segments are listed first and counted then.
func (s *Store) compare(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, shard int) (segments int, members int64, even bool, err error) {
	keys := prefix(b, shard) + string(season)
	spans, even, err := s.recordedSpans(ctx, b, keys+":segment")
	if err != nil || !even {
		return 0, 0, false, err
	}
	bound := "-inf"
	for first := 0; first == 0 || first < len(spans); first += segmentsPerCall {
		part := spans[first:min(first+segmentsPerCall, len(spans))]
		upTo := "+inf"
		if first+len(part) < len(spans) {
			upTo = part[len(part)-1].last
		}
		args := []any{bound, upTo}
		for _, span := range part {
			args = append(args, span.name, span.first, span.last)
		}
		r := s.step(ctx, compareScript, []call{{[]string{keys + ":main", keys + ":segment"}, args}})[0]
		switch {
		case r.err != nil:
			return 0, 0, false, r.err
		case r.word != "even" || len(r.rest) != 1:
			return 0, 0, false, nil
		}
		members += integer(r.rest[0])
		bound = "(" + upTo
	}
	return len(spans), members, true, nil
}

// span is a segment as Redis is asked for it: its name in the hash, and its first and last key in the sorted set.
type span struct{ name, first, last string }

// recordedSpans are the segments that a hash counts, in order of their keys; not ok when one has a name that is none.
func (s *Store) recordedSpans(ctx context.Context, b *rankcore.Board, key string) (spans []span, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	names, err := s.steps.HKeys(ctx, key).Result()
	if err != nil {
		return nil, false, err
	}
	segments := make([]rankcore.Segment, len(names))
	for i, name := range names {
		g, err := strconv.ParseInt(name, 10, 32)
		if err != nil || strconv.FormatInt(g, 10) != name {
			return nil, false, nil
		}
		segments[i] = rankcore.Segment(g)
	}
	slices.SortFunc(segments, func(x, y rankcore.Segment) int { return int(b.Order.Key(1)) * cmp.Compare(x, y) })
	spans = make([]span, len(segments))
	for i, g := range segments {
		best, worst := b.Order.Edges(g)
		spans[i] = span{
			name:  strconv.Itoa(int(g)),
			first: strconv.FormatInt(b.Order.Key(best), 10), last: strconv.FormatInt(b.Order.Key(worst), 10),
		}
	}
	return spans, true, nil
}

// recount counts one season of a.Shard from its members, part by part, and notes what differs.
func (s *Store) recount(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID, repair bool, a *rankcore.Audit) error {
	script := recountScript
	if repair {
		script = repairScript
	}
	drift := rankcore.Drift{Kind: rankcore.DriftSegments, Season: season, Repaired: repair}
	segments, first := int64(0), ""
	for bound, ended := "-inf", false; !ended; {
		r := s.step(ctx, script, []call{{shardKeys(b, a.Shard), []any{string(season), bound, segmentsPerCall, b.Order.Key(1), flag(repair)}}})[0]
		switch {
		case r.err != nil:
			return r.err
		case r.word == "damaged" && len(r.rest) == 1:
			a.Drift = append(a.Drift, rankcore.Drift{Kind: rankcore.DriftDamage, Season: season, Detail: text(r.rest[0])})
			ended = true
		case r.word == "retired": // since its name was read
			ended = true
		case r.word == "counted" && len(r.rest) == 7:
			bound = text(r.rest[0])
			ended = bound == ""
			a.Segments += int(integer(r.rest[1]))
			a.Members += integer(r.rest[2])
			segments += integer(r.rest[3])
			drift.Recorded += integer(r.rest[4])
			drift.Counted += integer(r.rest[5])
			if first == "" {
				first = text(r.rest[6])
			}
		default:
			return errShape(r.word)
		}
	}
	if segments > 0 {
		drift.Detail = segmentDetail(segments, first)
		a.Drift = append(a.Drift, drift)
	}
	return nil
}

// segmentDetail says how many segments differ, and which scores the first of them holds.
func segmentDetail(segments int64, first string) string {
	detail := fmt.Sprintf("%d segments", segments)
	if segments == 1 {
		detail = "1 segment"
	}
	if g, err := strconv.ParseInt(first, 10, 32); err == nil {
		lo, hi := rankcore.Segment(g).Bounds()
		return fmt.Sprintf("%s, the first with scores %d to %d", detail, lo, hi)
	}
	return detail + ", the first of a name that is none"
}

// errMiscounted ends a step that met segment counts which cannot be: fewer than none. It may be sent again.
var errMiscounted = errors.New("its segment counts were wrong and are counted anew")

// mend counts the segments of one season anew. Its error is what the step that met them ends with.
func (s *Store) mend(ctx context.Context, b *rankcore.Board, shard int, season string) error {
	a := rankcore.Audit{Shard: shard}
	if err := s.recount(ctx, b, rankcore.SeasonID(season), true, &a); err != nil {
		return err
	}
	for _, d := range a.Drift {
		s.log.WarnContext(ctx, "segment counts of a shard were wrong and are counted anew", "board", b.ID, "shard", shard,
			"season", season, "recorded", d.Recorded, "counted", d.Counted, "detail", d.Detail)
	}
	return errMiscounted
}
