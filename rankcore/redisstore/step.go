package redisstore

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"rankgate/rankcore"
)

// stepArgs is a step as apply.lua reads it: lists of what operations share, then the operations, column by column.
// Scores become keys, which stand in rank order on every board.
func stepArgs(b *rankcore.Board, layout string, s rankcore.Step) []any {
	var t stepTables
	t.numberAll(s.Ops)
	args := make([]any, 0, 12)
	ids := t.packIDs(b, s.Ops)
	args = append(args, s.From.String(), s.To.String(), layout, t.head(b, &s))
	args = append(args, t.seasons.packedList(), t.seasons.packedSets(), packRuns(s.Ops), t.packOps(b, s.Ops), ids)
	for users := range slices.Chunk(t.users, usersPerPart) {
		args = append(args, unpackFormat(users), strings.Join(users, ""))
	}
	return args
}

// stepTables number what the operations of a step share.
type stepTables struct {
	seasons    seasonTable
	users      []string
	userOf     []uint16 // of each operation, from 1
	setOf      []uint16 // likewise, 0 for no season
	allSeasons bool     // some operation reaches every season there is
	ids        bool     // some operation has an id
	repeated   bool     // some of them have the same one; known once ids are packed
}

func (t *stepTables) numberAll(ops []rankcore.PlacedOp) {
	t.seasons = seasonTable{number: map[rankcore.SeasonID]int{}, sets: map[string]int{}}
	t.userOf, t.setOf = make([]uint16, len(ops)), make([]uint16, len(ops))
	numbers := make(map[rankcore.UserID]uint16, len(ops))
	for i := range ops {
		op := &ops[i]
		number, known := numbers[op.User]
		if !known {
			t.users = append(t.users, string(op.User))
			number = uint16(len(t.users))
			numbers[op.User] = number
		}
		t.userOf[i], t.setOf[i] = number, uint16(t.seasons.set(op.Seasons))
		t.allSeasons = t.allSeasons || !op.Kind.HasValue()
		t.ids = t.ids || op.ID != ""
	}
}

// usersPerPart is how many users one call of struct.unpack gives back: Lua's stack takes some thousands.
const usersPerPart = 1000

// unpackFormat has struct.unpack cut strings apart that were put together.
func unpackFormat(list []string) []byte {
	format := make([]byte, 0, 3*len(list))
	for _, s := range list {
		format = strconv.AppendInt(append(format, 'c'), int64(len(s)), 10)
	}
	return format
}

func (t *stepTables) head(b *rankcore.Board, s *rankcore.Step) []byte {
	head := make([]byte, 0, 56)
	for _, n := range [...]int64{s.To.At().UnixMilli(), b.ForgetBefore(s.To), bucketWidth(b), b.Dedupe.Milliseconds(), firstStored(s.Ops), b.Order.Key(1)} {
		head = appendDouble(head, n)
	}
	head = binary.LittleEndian.AppendUint16(head, uint16(len(s.Ops)))
	for _, yes := range [...]bool{s.Lost, t.allSeasons, s.Moves, t.ids, t.repeated} {
		head = append(head, flag(yes)[0]-'0')
	}
	return head
}

// firstStored is the earliest time at which one of the operations was stored, 0 without operations.
func firstStored(ops []rankcore.PlacedOp) int64 {
	if len(ops) == 0 {
		return 0
	}
	return slices.MinFunc(ops, func(a, b rankcore.PlacedOp) int { return cmp.Compare(a.Stored, b.Stored) }).Stored
}

// packRuns packs how many operations in a row were stored at which time.
func packRuns(ops []rankcore.PlacedOp) []byte {
	var runs []byte
	for first, i := 0, 1; i <= len(ops); i++ {
		if i == len(ops) || ops[i].Stored != ops[first].Stored {
			runs = binary.LittleEndian.AppendUint16(runs, uint16(i-first))
			runs = appendDouble(runs, ops[first].Stored)
			first = i
		}
	}
	return runs
}

// Operations are numbered in 16 bits, and so are their users and season sets.
const maxStepOps = math.MaxUint16

// withID marks the kind of an operation that has an id.
const withID = 128

func (t *stepTables) packOps(b *rankcore.Board, ops []rankcore.PlacedOp) []byte {
	packed := make([]byte, 0, (13+arrivalSize)*len(ops))
	for i := range ops {
		kind := byte(ops[i].Kind)
		if ops[i].ID != "" {
			kind |= withID
		}
		packed = append(packed, kind)
	}
	for _, user := range t.userOf {
		packed = binary.LittleEndian.AppendUint16(packed, user)
	}
	for i := range ops {
		key := int64(0)
		if ops[i].Kind.HasValue() {
			key = b.Order.Key(ops[i].Value)
		}
		packed = appendDouble(packed, key)
	}
	if t.mixedSets(ops) {
		for _, set := range t.setOf {
			packed = binary.LittleEndian.AppendUint16(packed, set)
		}
	}
	if b.Ties == rankcore.TiesFirst {
		for i := range ops {
			packed = binary.BigEndian.AppendUint64(packed, uint64(ops[i].Arrival))
		}
	}
	return packed
}

// mixedSets reports whether operations with a value differ in their seasons, or have none.
func (t *stepTables) mixedSets(ops []rankcore.PlacedOp) bool {
	for i := range ops {
		if ops[i].Kind.HasValue() && t.setOf[i] != 1 {
			return true
		}
	}
	return false
}

func appendDouble(dst []byte, n int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(n)))
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
		packed.Write(binary.LittleEndian.AppendUint16(nil, uint16(no)))
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

// packedList packs the seasons: of each its id after its length, and its expiry.
func (t *seasonTable) packedList() []byte {
	var packed []byte
	for _, season := range t.list {
		packed = append(append(packed, byte(len(season.ID))), season.ID...)
		packed = appendDouble(packed, expiry(season))
	}
	return packed
}

// packedSets packs the sets: of each how many seasons it has, and their numbers.
func (t *seasonTable) packedSets() []byte {
	var packed []byte
	for _, set := range t.packed {
		packed = append(binary.LittleEndian.AppendUint16(packed, uint16(len(set)/2)), set...)
	}
	return packed
}

// isAudit reports whether a step asks only where the shard is.
func isAudit(s rankcore.Step) bool { return s.From == s.To && len(s.Ops) == 0 && !s.Lost }
