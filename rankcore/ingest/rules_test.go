package ingest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

// These tests hold single rules of the protocol where a whole run would meet them by chance only.

func pos(seq uint64, ns int64) rankcore.Position { return rankcore.Position{Seq: seq, Time: ns} }

// applierOn is an applier that is not running, on a log that is.
func applierOn(t *testing.T, shards int) (*rig, *Applier, *model) {
	t.Helper()
	r := newRig(t)
	b := testBoard("power", shards)
	l, _ := r.runLog(nil, b)
	mustAppend(t, l, b, add("first", "alice", 1))
	m := newModel(b)
	return r, NewApplier(ApplierConfig{Log: l, Board: b, Shards: m, Announcer: &heard{}, Logger: r.logger}), m
}

// runOf is a run of messages with one operation each, of which users names the user; "" is a `lost` record.
func runOf(b *rankcore.Board, prev rankcore.Position, first uint64, users ...string) *run {
	entries := make([]entry, len(users))
	for i, user := range users {
		seq := first + uint64(i)
		payload := rankcore.AppendMark(nil, rankcore.Message{Mark: rankcore.MarkLost})
		if user != "" {
			payload = rankcore.AppendMessage(nil, b, []rankcore.Op{add(fmt.Sprintf("m%d", seq), user, 1)})
		}
		entries[i] = entry{Position: pos(seq, int64(seq)*1000), data: payload}
	}
	return newReader(b, time.Time{}).understand(prev, entries)
}

func purgeBefore(t *testing.T, s stream, seq uint64) {
	t.Helper()
	st, err := s.js.Stream(t.Context(), StreamName)
	if err == nil {
		err = st.Purge(t.Context(), jetstream.WithPurgeSequence(seq))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// R6: a session begins at the position itself, and the log must show it by sequence and time.
func TestPositionIsProvenByName(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	s, b := a.stream, a.board
	p := publish(t, s, b, `{"v":1,"mark":"tick"}`)
	after := publish(t, s, b, `{"v":1,"mark":"tick"}`)
	for _, c := range []struct {
		name string
		at   rankcore.Position
		want opening
	}{
		{"its own name", p, found},
		{"the sequence with another time", pos(p.Seq, p.Time-1), missing},
		{"beyond the log's end", pos(after.Seq+1, after.Time+1), missing},
	} {
		ss, what, err := s.prove(t.Context(), b, c.at)
		if err != nil || what != c.want {
			t.Errorf("%s: %v %v, want %v", c.name, what, err, c.want)
			continue
		}
		if what == found {
			e, err := ss.one(t.Context())
			if err != nil || e == nil || e.Position != after {
				t.Errorf("%s: then %v %v, want %v: the position itself was applied already", c.name, e, err, after)
			}
		}
		ss.close()
	}
	purgeBefore(t, s, after.Seq)
	for _, at := range []rankcore.Position{{}, p} {
		if _, what, err := s.prove(t.Context(), b, at); err != nil || what != trimmed {
			t.Errorf("position %v of a log without its front: %v %v", at, what, err)
		}
	}
}

// R8: what a session gave before it ended is not used.
func TestRunOfALostSessionIsDropped(t *testing.T) {
	r, a, m := applierOn(t, 1)
	if err := a.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	item := <-a.feed.out
	if item.run == nil {
		t.Fatal("nothing was read")
	}
	links := a.stream.reconnects()
	r.stop()
	r.start()
	eventually(t, func() string {
		if a.stream.reconnects() == links {
			return "not reconnected"
		}
		return ""
	})
	if err := a.handle(t.Context(), item); m.score("alice") != 0 || a.feed != nil {
		t.Errorf("the run was used: %v", err)
	}
	for a.away > 0 {
		<-a.back
		a.away--
	}
}

// R9: messages dropped between two reads are noticed before what follows them is used.
func TestRunBehindADroppedMessageIsNotUsed(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	s, b := a.stream, a.board
	other := testBoard("other", 1)
	p := publish(t, s, b, `{"v":1,"mark":"tick"}`)
	ss, what, err := s.prove(t.Context(), b, p)
	if err != nil || what != found {
		t.Fatal(what, err)
	}
	defer ss.close()
	publish(t, s, b, `{"v":1,"ops":[{"id":"unread","user":"alice","add":1}]}`)
	publish(t, s, other, `{"v":1,"mark":"tick"}`)
	last := publish(t, s, b, `{"v":1,"ops":[{"id":"read","user":"alice","add":1}]}`)
	purgeBefore(t, s, last.Seq)
	f := feed{reader: newReader(b, time.Time{}), lookout: lookout{stream: s, board: b.ID}}
	if item := f.read(t.Context(), ss, p, rankcore.Position{}); !errors.Is(item.err, errTrimmed) {
		t.Errorf("read over dropped messages: %+v", item)
	}
}

// R10: a shard that is ahead joins at its own position, and at no other message.
func TestShardAheadJoinsAtItsPositionOnly(t *testing.T) {
	b := testBoard("power", 1)
	r := runOf(b, pos(4, 4000), 5, "u", "u", "u")
	for _, c := range []struct {
		name  string
		at    rankcore.Position
		want  state
		after int
	}{
		{"met", pos(6, 6000), following, 1},
		{"another message at its sequence", pos(6, 6001), unknown, 0},
		{"not reached", pos(8, 8000), ahead, 0},
		{"its sequence was passed over", pos(3, 3000), unknown, 0},
	} {
		sh := shard{state: ahead, pos: c.at}
		after, ok := (&lane{}).meets(&sh, r)
		if sh.state != c.want || ok != (c.want == following) || ok && after != c.after {
			t.Errorf("%s: %v, after %d", c.name, sh.state, after)
		}
	}
}

// R11: a shard that another applier moved into the run gets only what is above.
func TestShardMovedIntoTheRunGetsTheRest(t *testing.T) {
	_, a, m := applierOn(t, 1)
	r := runOf(a.board, pos(4, 4000), 5, "u", "u", "u", "u")
	m.with(0, func(sh *modelShard) { sh.pos = pos(6, 6000) })
	a.main.shards[0] = shard{state: following, pos: pos(4, 4000)}
	a.main.take(t.Context(), r)
	if sh := m.copyOf(0); sh.pos != pos(8, 8000) || sh.scores["u"] != 2 {
		t.Errorf("the shard is at %v with %d, want 2 operations", sh.pos, sh.scores["u"])
	}
	if a.main.shards[0].state != following {
		t.Error("the shard no longer follows")
	}
	m.with(0, func(sh *modelShard) { sh.pos = pos(6, 6001) }) // not in the run: another history
	a.main.shards[0] = shard{state: following, pos: pos(4, 4000)}
	a.main.take(t.Context(), r)
	if sh := m.copyOf(0); sh.pos != pos(6, 6001) || a.main.shards[0].state != unknown {
		t.Errorf("the shard was moved from a position the run does not have")
	}
}

// Steps are cut at messages, carry about 500 operations, and end at the run's end.
func TestStepsAreCutBetweenMessages(t *testing.T) {
	_, a, m := applierOn(t, 1)
	var entries []entry
	for i := range 4 {
		ops := make([]rankcore.Op, 300)
		for n := range ops {
			ops[n] = add(fmt.Sprintf("%d-%d", i, n), "u", 1)
		}
		entries = append(entries, entry{Position: pos(uint64(5+i), int64(5+i)*1000), data: rankcore.AppendMessage(nil, a.board, ops)})
	}
	r := newReader(a.board, time.Time{}).understand(pos(4, 4000), entries)
	var sizes []int
	var ends []uint64
	m.before = func(s rankcore.Step) { sizes, ends = append(sizes, len(s.Ops)), append(ends, s.To.Seq) }
	m.with(0, func(sh *modelShard) { sh.pos = pos(4, 4000) })
	a.main.shards[0] = shard{state: following, pos: pos(4, 4000)}
	change := a.main.take(t.Context(), r)
	if !slices.Equal(sizes, []int{600, 600}) || !slices.Equal(ends, []uint64{6, 8}) {
		t.Errorf("steps of %v operations to %v", sizes, ends)
	}
	if len(change.Users) != 1 || change.All || change.To != pos(8, 8000) {
		t.Errorf("change: %+v", change)
	}
}

// Reading over a `lost` record marks a shard, whether it had operations or not (R17).
func TestLostRecordMarksEveryShard(t *testing.T) {
	_, a, m := applierOn(t, 2)
	other := "u"
	for i := 0; a.board.Shard(rankcore.UserID(other)) != 0; i++ {
		other = fmt.Sprint(i)
	}
	r := runOf(a.board, pos(4, 4000), 5, other, "", other)
	for s := range 2 {
		m.with(s, func(sh *modelShard) { sh.pos = pos(4, 4000) })
		a.main.shards[s] = shard{state: following, pos: pos(4, 4000)}
	}
	a.main.take(t.Context(), r)
	a.beatShards(t.Context(), []int{0, 1})
	for s := range 2 {
		if sh := m.copyOf(s); !sh.lost || sh.pos != r.to {
			t.Errorf("shard %d: at %v, marked %v", s, sh.pos, sh.lost)
		}
	}
}

// R14: a catch-up must meet the cursor by name.
func TestCatchUpMeetsTheCursorByName(t *testing.T) {
	_, a, m := applierOn(t, 1)
	var last rankcore.Position
	for range 3 {
		last = publish(t, a.stream, a.board, `{"v":1,"ops":[{"user":"alice","add":1}]}`)
	}
	c := &lane{a: a, shards: make([]shard, 1), members: []int{0}}
	if err := a.catch(t.Context(), c, pos(last.Seq-1, last.Time)); !errors.Is(err, errBranch) {
		t.Errorf("a cursor of another log: %v", err)
	}
	m.with(0, func(sh *modelShard) { *sh = modelShard{} })
	c = &lane{a: a, shards: make([]shard, 1), members: []int{0}}
	if err := a.catch(t.Context(), c, last); err != nil || c.shards[0].state != following || c.shards[0].pos != last {
		t.Errorf("the log's own cursor: %v, %v at %v", err, c.shards[0].state, c.shards[0].pos)
	}
}

// R15: a view without the probe proves no loss.
func TestNoRebaseWithoutTheProbe(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	last := publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	for _, probe := range []rankcore.Position{pos(last.Seq+1, last.Time+1), pos(last.Seq, last.Time+1)} {
		ss, err := a.stream.open(t.Context(), a.board.ID, from{seq: 1})
		if err != nil {
			t.Fatal(err)
		}
		mend := &mending{a: a, rd: newReader(a.board, time.Time{}), until: probe}
		if err := mend.read(t.Context(), ss); !errors.Is(err, errNotProven) {
			t.Errorf("probe %v: %v", probe, err)
		}
		ss.close()
	}
}

// A mark that takes long to be stored, as on a slow disk, comes after the request that was under way has ended with nothing.
func TestAMarkThatTakesLongIsReadAllTheSame(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	mend := &mending{a: a, rd: newReader(a.board, time.Time{}), until: publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)}
	ss, err := a.stream.open(t.Context(), a.board.ID, from{seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer ss.close()
	if err := mend.read(t.Context(), ss); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if !ss.ready() {
			return "the request goes on"
		}
		return ""
	})
	mend.until = publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	if err := mend.read(t.Context(), ss); err != nil {
		t.Errorf("the mark is there, and was not found: %v", err)
	}
}

// R16: what was trimmed is not lost; and what is there is neither.
func TestTrimmedOrFoundIsNotRebased(t *testing.T) {
	_, a, m := applierOn(t, 1)
	p := publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	for _, gone := range []bool{false, true} {
		if gone {
			publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
			purgeBefore(t, a.stream, p.Seq+1)
		}
		m.with(0, func(sh *modelShard) { sh.pos = p })
		c := &lane{a: a, shards: []shard{{state: catching, pos: p}}, members: []int{0}}
		if err := a.rebase(t.Context(), c, []int{0}); err != nil {
			t.Fatal(err)
		}
		if sh := m.copyOf(0); sh.pos != p || sh.lost || lostRecords(t, a.stream, a.board) != 0 {
			t.Errorf("trimmed %v: taken for lost", gone)
		}
	}
}

// A log whose clock stands far behind what it gave before mends nothing: by time, new would look old.
func TestNoRebaseWhileTheLogsClockIsBehind(t *testing.T) {
	_, a, m := applierOn(t, 1)
	q := pos(99, time.Now().Add(90*time.Second).UnixNano())
	m.with(0, func(sh *modelShard) { sh.pos = q })
	c := &lane{a: a, shards: []shard{{state: catching, pos: q}}, members: []int{0}}
	if err := a.rebase(t.Context(), c, []int{0}); !errors.Is(err, errNotProven) || m.copyOf(0).pos != q {
		t.Errorf("rebased with a clock behind: %v", err)
	}
}

// R18, R19, R20: what a shard whose position is lost gets of the log that is, and where it may be cut.
func TestRebaseTakesWhatIsNewerByTime(t *testing.T) {
	b := testBoard("power", 1)
	const slack = int64(rankcore.IDSlack)
	q := pos(100, 10*slack)
	r := &run{ends: []int32{0}}
	put := func(seq uint64, time int64, id string) {
		r.names = append(r.names, pos(seq, time))
		op := add(id, "u", 1)
		r.ops = append(r.ops, rankcore.PlacedOp{Op: op})
		r.message = append(r.message, int32(len(r.names)-1))
		r.ends[0]++
	}
	put(90, 9*slack-1, "before the zone")
	put(91, 9*slack, "in the zone")
	put(92, 9*slack+1, "")         // no id: the memory cannot tell whether it is new
	put(93, 10*slack, "same time") // strictly later only
	put(94, 10*slack, "")
	put(95, 10*slack+1, "") // later: everything, though its sequence is lower
	put(96, 9*slack+5, "clock went back")
	put(97, 11*slack, "end of the zone")
	put(98, 11*slack+1, "cut behind this")
	put(99, 9*slack+9, "for the ordinary catch-up")
	w := &wound{shard: b.Shard("u"), at: q}
	w.collect(r)
	var got []string
	for _, op := range w.ops {
		got = append(got, op.ID)
	}
	want := []string{"in the zone", "same time", "", "clock went back", "end of the zone", "cut behind this"}
	if !slices.Equal(got, want) {
		t.Errorf("takes %q, want %q", got, want)
	}
	if w.to != pos(98, 11*slack+1) || w.seen {
		t.Errorf("cut at %v, seen %v", w.to, w.seen)
	}
	r.names[9] = q
	if w.collect(r); !w.seen {
		t.Error("the position turned up and was not seen")
	}
}

// R20, when the step is long: it ends early, but behind the last operation without an id that the shard may have,
// and at no message whose time went back.
func TestLongRebaseEndsEarlyWhereNothingCountsAgain(t *testing.T) {
	b := testBoard("power", 1)
	const slack = int64(rankcore.IDSlack)
	q := pos(1_000_000, 10*slack)
	record := pos(2_000_000, 10*slack+900)
	collect := func(bare ...uint64) rankcore.Step {
		r := &run{ends: []int32{0}}
		for i := range int64(maxStepOps + 100) {
			name := pos(uint64(100+i), 9*slack+10+i)
			if i == 3 {
				name.Time -= 5
			}
			op := add(fmt.Sprint(i), "u", 1)
			if slices.Contains(bare, name.Seq) {
				op.ID = ""
			}
			r.names, r.ops, r.message = append(r.names, name), append(r.ops, rankcore.PlacedOp{Op: op}), append(r.message, int32(i))
			r.ends[0]++
		}
		w := &wound{shard: b.Shard("u"), at: q}
		w.collect(r)
		return w.step(record)
	}
	for _, c := range []struct {
		name string
		bare []uint64
		to   uint64
		ops  int
	}{
		{"ids on all", nil, 100, 1},
		{"some without", []uint64{100, 102}, 102, 1},
		{"the last without stands where time went back", []uint64{103}, 104, 4},
	} {
		if s := collect(c.bare...); s.To.Seq != c.to || len(s.Ops) != c.ops || !s.Lost {
			t.Errorf("%s: %d operations to %v, want %d to %d", c.name, len(s.Ops), s.To, c.ops, c.to)
		}
	}
}
