package redisstore

import (
	"encoding/binary"
	"math"
	"strings"

	"rankgate/rankcore"
)

// idBuckets is into how many buckets the time that ids are remembered is cut. A whole bucket is forgotten at once,
// so more buckets keep less of what is too old, and fewer cost fewer lookups for each operation.
const idBuckets = 4

// bucketWidth is the span of log time whose ids share a hash, in milliseconds.
func bucketWidth(b *rankcore.Board) int64 {
	return max((b.Dedupe+2*rankcore.IDSlack).Milliseconds()/idBuckets, 1)
}

// stepArgs is a step as apply.lua reads it: lists of what operations share, then the operations in one packed
// string. Scores become keys, which stand in rank order on every board.
func stepArgs(b *rankcore.Board, layout string, s rankcore.Step) []any {
	seasons := seasonTable{number: map[rankcore.SeasonID]int{}, sets: map[string]int{}}
	users := make(map[rankcore.UserID]int, len(s.Ops))
	var names []any
	packed := make([]byte, 0, opSize*len(s.Ops))
	allSeasons := false
	for i := range s.Ops {
		op := &s.Ops[i]
		user, known := users[op.User]
		if !known {
			user = len(users) + 1
			users[op.User] = user
			names = append(names, string(op.User))
		}
		allSeasons = allSeasons || !op.Kind.HasValue()
		packed = appendOp(packed, b, op, seasons.set(op.Seasons), user)
	}
	args := []any{
		s.From.String(), s.To.String(), layout,
		s.To.At().UnixMilli(), b.ForgetBefore(s.To), bucketWidth(b), b.Dedupe.Milliseconds(),
		b.Order.Key(1), flag(s.Lost), flag(allSeasons), flag(s.Moves),
	}
	args = seasons.appendTo(args)
	args = append(append(args, len(names)), names...)
	ids := idKeys(s.Ops)
	args = append(append(args, len(ids)), ids...)
	return append(args, packed)
}

// idKeys are the operations' names in the id memory, "" without an id; none when no operation has one.
func idKeys(ops []rankcore.PlacedOp) []any {
	keys, some := make([]any, len(ops)), false
	for i := range ops {
		keys[i] = idKey(&ops[i].Op)
		some = some || ops[i].ID != ""
	}
	if !some {
		return nil
	}
	return keys
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// expiry is when a season is retired, in Unix milliseconds; 0 is never.
func expiry(s rankcore.Season) int64 {
	if s.Kind == rankcore.All {
		return 0
	}
	return s.Expires.UnixMilli()
}

func idKey(op *rankcore.Op) string {
	if op.ID == "" {
		return ""
	}
	key := op.Key()
	return string(key[:])
}

// opSize is the length of a packed operation, in which users and season sets are numbers of 16 bits.
const (
	opSize     = 23
	maxStepOps = math.MaxUint16
)

// appendOp packs an operation: kind, season set, user, key, and what the id memory keeps of it, its message's time
// and its digest. Without an id there is nothing to compare and the digest is zero.
func appendOp(dst []byte, b *rankcore.Board, op *rankcore.PlacedOp, set, user int) []byte {
	dst = append(dst, byte(op.Kind))
	dst = binary.BigEndian.AppendUint16(dst, uint16(set))
	dst = binary.BigEndian.AppendUint16(dst, uint16(user))
	key, digest := int64(0), uint32(0)
	if op.Kind.HasValue() {
		key = b.Order.Key(op.Value)
	}
	if op.ID != "" {
		digest = op.Digest()
	}
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(key)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(op.Stored>>32))
	dst = binary.BigEndian.AppendUint32(dst, uint32(op.Stored))
	return binary.BigEndian.AppendUint32(dst, digest)
}

// recordSize is what the id memory keeps of an operation: 6 bytes of time, 4 of digest, 1 of outcome. With Redis'
// own overhead, the record and its 12 byte key each just fit the smallest piece of memory that holds them.
const recordSize = 11

// remembered is the outcome that a record tells of op.
func remembered(op *rankcore.Op, record string) rankcore.Outcome {
	if len(record) != recordSize {
		return rankcore.OutcomeUnknown
	}
	if binary.BigEndian.Uint32([]byte(record[6:10])) != op.Digest() {
		return rankcore.Conflict
	}
	return rankcore.Outcome(record[10])
}

// seasonTable numbers the seasons of a step and the sets of them that its operations count in, from 1.
// Nearly all operations of a step share one set.
type seasonTable struct {
	list   []rankcore.Season
	number map[rankcore.SeasonID]int
	packed []string
	sets   map[string]int

	last   []rankcore.Season // the slice seen last, and its set
	lastNo int
}

// set is the number of the set of seasons, 0 for an empty one.
func (t *seasonTable) set(seasons []rankcore.Season) int {
	if len(seasons) == 0 {
		return 0
	}
	if len(t.last) == len(seasons) && &t.last[0] == &seasons[0] {
		return t.lastNo
	}
	var packed strings.Builder
	for _, season := range seasons {
		no, ok := t.number[season.ID]
		if !ok {
			t.list = append(t.list, season)
			no = len(t.list)
			t.number[season.ID] = no
		}
		packed.Write(binary.BigEndian.AppendUint16(nil, uint16(no)))
	}
	no, ok := t.sets[packed.String()]
	if !ok {
		t.packed = append(t.packed, packed.String())
		no = len(t.packed)
		t.sets[packed.String()] = no
	}
	t.last, t.lastNo = seasons, no
	return no
}

// appendTo appends the seasons and the sets, each list after its length.
func (t *seasonTable) appendTo(args []any) []any {
	args = append(args, len(t.list))
	for _, season := range t.list {
		args = append(args, string(season.ID), expiry(season))
	}
	args = append(args, len(t.packed))
	for _, set := range t.packed {
		args = append(args, set)
	}
	return args
}

// isAudit reports whether a step asks only where the shard is.
func isAudit(s rankcore.Step) bool { return s.From == s.To && len(s.Ops) == 0 && !s.Lost }
