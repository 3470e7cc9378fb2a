package redisstore

import (
	"encoding/binary"
	"math"
	"strconv"
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

// stepArgs is a step as apply.lua reads it: what is shared first, then three strings for each operation.
// Scores become keys, which stand in rank order on every board.
func stepArgs(b *rankcore.Board, layout string, s rankcore.Step) []any {
	seasons := seasonTable{number: map[rankcore.SeasonID]int{}, sets: map[string]int{}}
	heads := make([]string, len(s.Ops))
	for i := range s.Ops {
		heads[i] = head(b, &s.Ops[i], seasons.set(s.Ops[i].Seasons))
	}
	sign, lost := "1", "0"
	if b.Order == rankcore.Desc {
		sign = "-1"
	}
	if s.Lost {
		lost = "1"
	}
	args := make([]any, 0, 12+2*len(seasons.list)+len(seasons.packed)+3*len(s.Ops))
	args = append(args, s.From.String(), s.To.String(), layout,
		number(s.To.At().UnixMilli()), number(b.ForgetBefore(s.To)), number(bucketWidth(b)), number(b.Dedupe.Milliseconds()), sign, lost)
	args = append(args, number(int64(len(seasons.list))))
	for _, season := range seasons.list {
		args = append(args, string(season.ID), number(expiry(season)))
	}
	args = append(args, number(int64(len(seasons.packed))))
	for _, set := range seasons.packed {
		args = append(args, set)
	}
	for i := range s.Ops {
		args = append(args, string(s.Ops[i].User), idKey(&s.Ops[i].Op), heads[i])
	}
	return args
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

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

// head packs what is not text: kind, season set, key, and what the id memory keeps of the operation, its
// message's time and its digest.
func head(b *rankcore.Board, op *rankcore.PlacedOp, set int) string {
	var buf [21]byte
	buf[0] = byte(op.Kind)
	binary.BigEndian.PutUint16(buf[1:], uint16(set))
	if op.Kind.HasValue() {
		binary.BigEndian.PutUint64(buf[3:], math.Float64bits(float64(b.Order.Key(op.Value))))
	}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(op.Stored))
	copy(buf[11:17], ms[2:])
	if op.ID != "" {
		binary.BigEndian.PutUint32(buf[17:], op.Digest())
	}
	return string(buf[:])
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

// isAudit reports whether a step asks only where the shard is.
func isAudit(s rankcore.Step) bool { return s.From == s.To && len(s.Ops) == 0 && !s.Lost }
