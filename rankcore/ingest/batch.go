package ingest

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"rankgate/rankcore"
)

// run is a run of messages that were read together, understood and placed: the operations stand by shard, in
// log order within each.
type run struct {
	from, to rankcore.Position // the message before the first, and the last
	names    []rankcore.Position
	lost     []int // indexes in names of `lost` records
	dead     []deadLetter

	ops     []rankcore.PlacedOp // by shard
	message []int32             // for each op the index in names of its message
	ends    []int32             // for each shard the end of its ops
}

// of are the shard's operations of messages after index i of names (-1: all), and their messages.
func (r *run) of(shard, i int) ([]rankcore.PlacedOp, []int32) {
	lo := int32(0)
	if shard > 0 {
		lo = r.ends[shard-1]
	}
	ops, message := r.ops[lo:r.ends[shard]], r.message[lo:r.ends[shard]]
	skip, _ := slices.BinarySearch(message, int32(i+1))
	return ops[skip:], message[skip:]
}

// opsPerShard is how many operations a shard has that has any, on average.
func (r *run) opsPerShard() float64 {
	shards, last := 0, int32(0)
	for _, end := range r.ends {
		if end > last {
			shards++
		}
		last = end
	}
	return float64(len(r.ops)) / float64(max(shards, 1))
}

// sizes are how many operations each message has.
func (r *run) sizes() []int32 {
	sizes := make([]int32, len(r.names))
	for _, m := range r.message {
		sizes[m]++
	}
	return sizes
}

// reach is the index of the first message at or above seq; len(names) when all are below.
func (r *run) reach(seq uint64) int {
	i, _ := slices.BinarySearchFunc(r.names, seq, func(p rankcore.Position, seq uint64) int { return cmp.Compare(p.Seq, seq) })
	return i
}

// find is the index of the message named p, or -1.
func (r *run) find(p rankcore.Position) int {
	if i := r.reach(p.Seq); i < len(r.names) && r.names[i] == p {
		return i
	}
	return -1
}

// lostAfter reports whether a `lost` record stands after index i.
func (r *run) lostAfter(i int) bool { return len(r.lost) > 0 && r.lost[len(r.lost)-1] > i }

// reader understands messages of one board in one log. It keeps its scratch space; not safe for concurrent use.
type reader struct {
	board    *rankcore.Board
	created  time.Time // when the log was made
	calendar *rankcore.Calendar
	flat     []rankcore.PlacedOp
	shard    []int32
	message  []int32
}

func newReader(b *rankcore.Board, created time.Time) *reader {
	return &reader{board: b, created: created, calendar: rankcore.NewCalendar(b)}
}

// understand is a run of messages that have all been read after prev.
func (d *reader) understand(prev rankcore.Position, entries []entry) *run {
	r := d.begin(prev)
	for i := range entries {
		d.add(r, &entries[i])
	}
	d.sort(r)
	return r
}

// begin begins a run behind prev.
func (d *reader) begin(prev rankcore.Position) *run {
	d.flat, d.shard, d.message = d.flat[:0], d.shard[:0], d.message[:0]
	return &run{from: prev, to: prev}
}

// add parses the run's next message and places its operations.
func (d *reader) add(r *run, e *entry) {
	index := len(r.names)
	r.names = append(r.names, e.Position)
	r.to = e.Position
	stored := e.At()
	m, err := rankcore.ParseMessage(d.board, e.data, e.id, stored)
	if err != nil {
		var why *rankcore.BodyError
		reason := "not a message of operations"
		if errors.As(err, &why) {
			reason = why.Detail
		}
		r.dead = append(r.dead, deadLetter{at: e.Position, index: wholeMessage, reason: reason, body: e.data})
		return
	}
	for _, bad := range m.Bad {
		r.dead = append(r.dead, deadLetter{at: e.Position, index: bad.Index, reason: bad.Detail, body: e.data})
	}
	if m.Mark == rankcore.MarkLost {
		r.lost = append(r.lost, index)
	}
	for i := range m.Ops {
		op := rankcore.PlacedOp{Op: m.Ops[i], Stored: stored.UnixMilli(), Arrival: d.board.Arrival(d.created, e.Seq, i)}
		if op.Kind.HasValue() {
			at := op.At
			if at.IsZero() {
				at = stored
			}
			op.Seasons = d.calendar.Seasons(at, stored)
		}
		d.flat = append(d.flat, op)
		d.shard = append(d.shard, int32(d.board.Shard(op.User)))
		d.message = append(d.message, int32(index))
	}
}

// sort ends the run. It brings the operations from log order into it, by shard: a counting sort, so order within a shard stays.
func (d *reader) sort(r *run) {
	r.ops = make([]rankcore.PlacedOp, len(d.flat))
	r.message = make([]int32, len(d.flat))
	r.ends = make([]int32, d.board.Shards)
	for _, s := range d.shard {
		r.ends[s]++
	}
	sum := int32(0)
	for s, n := range r.ends {
		r.ends[s] = sum
		sum += n
	}
	for i, s := range d.shard {
		to := r.ends[s]
		r.ends[s]++
		r.ops[to], r.message[to] = d.flat[i], d.message[i]
	}
	clear(d.flat) // strings of a finished run are not kept alive
}
