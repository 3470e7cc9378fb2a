package memstore

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

// saveAllOf writes a checkpoint of every changed shard.
func saveAllOf(t *testing.T, s *Store) {
	t.Helper()
	s.saveAll(t.Context())
}

// reopen is what a restart finds in the folder, and what it logs.
func reopen(t *testing.T, dir string, b *rankcore.Board) (*Store, string) {
	t.Helper()
	var said bytes.Buffer
	s, err := New(Config{Dir: dir, Boards: []*rankcore.Board{b}, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s, said.String()
}

// portrait is everything a store answers about a board, and everything that decides what it will answer.
type portrait struct {
	positions []rankcore.StepResult
	seasons   map[rankcore.SeasonID]*rankcore.Page
	hidden    map[rankcore.UserID]bool
	aside     map[rankcore.SeasonID]map[rankcore.UserID]reached
	ids       map[rankcore.OpKey]rankcore.Outcome
}

func portray(t *testing.T, s *Store, b *rankcore.Board) portrait {
	t.Helper()
	p := portrait{
		positions: s.Positions(t.Context(), b), seasons: map[rankcore.SeasonID]*rankcore.Page{}, hidden: map[rankcore.UserID]bool{},
		aside: map[rankcore.SeasonID]map[rankcore.UserID]reached{}, ids: map[rankcore.OpKey]rankcore.Outcome{},
	}
	for _, sh := range s.boards[b.ID].shards {
		for u := range sh.hidden {
			p.hidden[u] = true
		}
		for id, se := range sh.seasons {
			if p.aside[id] == nil {
				p.aside[id] = map[rankcore.UserID]reached{}
			}
			maps.Copy(p.aside[id], se.aside)
			page, err := s.Top(t.Context(), rankcore.TopQuery{Board: b, Season: id, Limit: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			page.AsOf = time.Time{}
			p.seasons[id] = page
		}
		for _, bk := range sh.ids.buckets {
			bk.scan(func(_ int64, r *record) { p.ids[r.key] = r.outcome })
		}
	}
	return p
}

// differs names the parts in which two portraits differ.
func (p portrait) differs(o portrait) (parts []string) {
	note := func(part string, same bool) {
		if !same {
			parts = append(parts, part)
		}
	}
	note("positions", slices.EqualFunc(p.positions, o.positions, func(a, b rankcore.StepResult) bool { return a.At == b.At && a.Lost == b.Lost && a.State == b.State }))
	note("seasons", maps.EqualFunc(p.seasons, o.seasons, func(a, b *rankcore.Page) bool { return a.Meta == b.Meta && slices.Equal(a.Entries, b.Entries) }))
	note("hidden", maps.Equal(p.hidden, o.hidden))
	note("aside", maps.EqualFunc(p.aside, o.aside, maps.Equal))
	note("ids", maps.Equal(p.ids, o.ids))
	return parts
}

// mixed writes some of everything: two seasons, ties, hidden users, ids, one lost shard.
func (c *crowd) mixed(t *testing.T, round int) {
	t.Helper()
	end := time.Unix(0, c.at.Time).Add(48 * time.Hour)
	seasons := []rankcore.Season{{ID: "all"}, {ID: "day:1", Kind: rankcore.Day, Expires: end}}
	var ops []rankcore.PlacedOp
	for i := range 400 {
		op := rankcore.PlacedOp{Seasons: seasons[:1+i%2], Op: rankcore.Op{
			User: crowdUser(c.rand.IntN(300)), Kind: rankcore.OpAdd, Value: rankcore.Score(c.rand.IntN(7) - 3),
		}}
		if i%3 == 0 {
			op.ID = crowdID(round, i)
		}
		if kind := c.rand.IntN(60); kind < 3 {
			op.Kind, op.Value, op.Seasons = rankcore.OpRemove+rankcore.OpKind(kind), 0, nil
		}
		ops = append(ops, op)
	}
	c.feed(t, ops)
}

func crowdID(round, i int) string { return string(rune('a'+round)) + string(crowdUser(i)) }

func mixedCrowd(t *testing.T, dir string, ties rankcore.Ties) *crowd {
	t.Helper()
	c := newCrowd(t, dir, ties, 0)
	for round := range 5 {
		c.mixed(t, round)
	}
	lost := rankcore.Position{Seq: c.at.Seq, Time: c.at.Time + 1}
	if r := c.store.Apply(t.Context(), c.board, []rankcore.Step{{Shard: 3, From: c.at, To: lost, Lost: true}})[0]; r.State != rankcore.StepApplied {
		t.Fatalf("step: %+v", r)
	}
	return c
}

// TestCheckpointRoundTrip: a restart finds what was saved, and goes on with it.
func TestCheckpointRoundTrip(t *testing.T) {
	for _, ties := range []rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst} {
		t.Run(ties.String(), func(t *testing.T) { testCheckpointRoundTrip(t, ties) })
	}
}

func testCheckpointRoundTrip(t *testing.T, ties rankcore.Ties) {
	dir := t.TempDir()
	c := mixedCrowd(t, dir, ties)
	saveAllOf(t, c.store)
	again, said := reopen(t, dir, c.board)
	got, want := portray(t, again, c.board), portray(t, c.store, c.board)
	if d := got.differs(want); d != nil || said != "" {
		t.Fatalf("after a restart %v differ; logged %q", d, said)
	}
	if len(got.hidden) == 0 || len(got.ids) == 0 {
		t.Fatal("nobody is hidden, or no id is remembered: this proves less than it should")
	}
	c.store = again
	back := rankcore.Position{Seq: c.at.Seq, Time: c.at.Time + 1}
	if r := again.Apply(t.Context(), c.board, []rankcore.Step{{Shard: 3, From: back, To: c.at}})[0]; r.State != rankcore.StepApplied || !r.Lost {
		t.Fatalf("step: %+v", r)
	}
	c.mixed(t, 9)
	saveAllOf(t, again)
	third, _ := reopen(t, dir, c.board)
	if d := portray(t, third, c.board).differs(portray(t, again, c.board)); d != nil {
		t.Fatalf("after two restarts %v differ", d)
	}
}

// TestCheckpointFrozen: what is written while a checkpoint is being written is not in it.
func TestCheckpointFrozen(t *testing.T) {
	for _, ties := range []rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst} {
		t.Run(ties.String(), func(t *testing.T) { testCheckpointFrozen(t, ties) })
	}
}

func testCheckpointFrozen(t *testing.T, ties rankcore.Ties) {
	c := mixedCrowd(t, "", ties)
	for i, sh := range c.store.boards["crowd"].shards {
		if i == 3 {
			continue // it is elsewhere, and would refuse the steps that follow
		}
		var before, after bytes.Buffer
		st := sh.freeze()
		if err := encode(t.Context(), &before, st); err != nil {
			t.Fatal(err)
		}
		for j := range 300 { // touch every leaf and every bucket
			from := sh.where().At
			to := rankcore.Position{Seq: from.Seq + 1, Time: from.Time}
			u := crowdUser(j)
			op := rankcore.PlacedOp{Seasons: allTime, Stored: to.At().UnixMilli(), Arrival: c.board.Arrival(time.Unix(0, 0), to.Seq, 0), Op: rankcore.Op{ID: "x", User: u, Kind: []rankcore.OpKind{rankcore.OpAdd, rankcore.OpRemove, rankcore.OpHide}[j%3], Value: 1}}
			if r := sh.apply(&rankcore.Step{From: from, To: to, Ops: []rankcore.PlacedOp{op}}); r.State != rankcore.StepApplied {
				t.Fatalf("step: %+v", r)
			}
		}
		if err := encode(t.Context(), &after, st); err != nil {
			t.Fatal(err)
		}
		one, other := newShard(c.board, i, newWhole()), newShard(c.board, i, newWhole())
		if err := decode(before.Bytes(), one); err != nil {
			t.Fatal(err)
		}
		if err := decode(after.Bytes(), other); err != nil {
			t.Fatal(err)
		}
		if a, b := listing(one), listing(other); !slices.Equal(a, b) {
			t.Fatalf("shard %d: a frozen state changed from %v to %v", i, a, b)
		}
	}
}

func listing(s *shard) (all []rankcore.Entry) {
	for _, id := range slices.Sorted(maps.Keys(s.seasons)) {
		se := s.seasons[id]
		all = append(se.ranked.entries(se.order, all, 0, se.ranked.size, math.MinInt64, math.MaxInt64), rankcore.Entry{User: rankcore.UserID(id), Score: rankcore.Score(len(se.aside))})
	}
	return append(all, rankcore.Entry{Rank: int64(len(s.hidden)), Score: rankcore.Score(s.position.Seq)})
}

// TestCheckpointSpoilt: a newest file that is not whole gives way to the one before; two such files, to an
// empty shard. Each is said in the log, and the next checkpoint takes the spoilt file's place.
func TestCheckpointSpoilt(t *testing.T) {
	dir := t.TempDir()
	c := newCrowd(t, dir, rankcore.TiesShared, 2000)
	saveAllOf(t, c.store)
	older := c.at
	c.feed(t, []rankcore.PlacedOp{c.set(1)})
	saveAllOf(t, c.store)
	f := c.store.boards["crowd"].files[5]
	newest, before := f.path(f.header.generation), f.path(f.header.generation-1)
	whole, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, want rankcore.Position, says bool) *Store {
		t.Helper()
		s, said := reopen(t, dir, c.board)
		if got := s.Positions(t.Context(), c.board)[5].At; got != want || says != strings.Contains(said, filepath.Base(newest)) {
			t.Fatalf("%s: at %v, want %v; logged %q", what, got, want, said)
		}
		return s
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("whole", c.at, false)
	for _, keep := range []int{0, 1, headerBytes, len(whole) / 2, len(whole) - 1} {
		write(newest, whole[:keep])
		expect("cut short", older, true)
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/97 {
		spoilt := slices.Clone(whole)
		spoilt[at] ^= 1 << (at % 8)
		write(newest, spoilt)
		expect("one bit turned", older, true)
	}
	s := expect("still", older, true)
	s.boards["crowd"].shards[5].apply(&rankcore.Step{Shard: 5, From: older, To: c.at})
	saveAllOf(t, s)
	expect("saved again", c.at, false)
	write(newest, whole[:40])
	write(before, nil)
	expect("both spoilt", rankcore.Position{}, true)
}

// TestCheckpointCrash: a process that dies while it writes leaves the checkpoint before, and no litter.
func TestCheckpointCrash(t *testing.T) {
	dir := t.TempDir()
	c := newCrowd(t, dir, rankcore.TiesShared, 2000)
	saveAllOf(t, c.store)
	at := c.at
	c.feed(t, []rankcore.PlacedOp{c.set(1)})
	litter := filepath.Join(dir, ".crowd.1.b.ckpt123456")
	if err := os.WriteFile(litter, []byte(magic), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	z, err := newCompressor()
	if err != nil {
		t.Fatal(err)
	}
	f := c.store.boards["crowd"].files[1]
	if _, err := f.write(ended, z, c.store.boards["crowd"].shards[1].freeze()); err == nil {
		t.Fatal("a checkpoint was written after its context had ended")
	}
	s, said := reopen(t, dir, c.board)
	if got := s.Positions(t.Context(), c.board)[1].At; got != at || said != "" {
		t.Fatalf("at %v, want %v; logged %q", got, at, said)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != c.board.Shards {
		t.Fatalf("%d files, want one for each shard: %v, %v", len(files), files, err)
	}
}

// TestCheckpointLayout: another shard count or rule for ties is refused with what to do; another order is taken in.
func TestCheckpointLayout(t *testing.T) {
	dir := t.TempDir()
	c := newCrowd(t, dir, rankcore.TiesShared, 2000)
	saveAllOf(t, c.store)
	for _, shards := range []int{8, 32} {
		b := *c.board
		b.Shards = shards
		_, err := New(Config{Dir: dir, Boards: []*rankcore.Board{&b}})
		if err == nil || !strings.Contains(err.Error(), `board "crowd"`) || !strings.Contains(err.Error(), "configure shards: 16") {
			t.Errorf("%d shards instead of 16: %v", shards, err)
		}
	}
	b := *c.board
	b.Ties = rankcore.TiesFirst
	if _, err := New(Config{Dir: dir, Boards: []*rankcore.Board{&b}}); err == nil || !strings.Contains(err.Error(), `board "crowd"`) || !strings.Contains(err.Error(), "with ties: shared") {
		t.Errorf("ties first instead of shared: %v", err)
	}
	b = *c.board
	b.Order = rankcore.Asc
	s, _ := reopen(t, dir, &b)
	desc, asc := portray(t, c.store, c.board).seasons["all"].Entries, portray(t, s, &b).seasons["all"].Entries
	if len(asc) != len(desc) || !slices.IsSortedFunc(asc, rankcore.Asc.Compare) || asc[0].Score != desc[len(desc)-1].Score {
		t.Errorf("%d members, turned round %d", len(desc), len(asc))
	}
	if _, err := New(Config{Dir: dir, Boards: []*rankcore.Board{{ID: "../x", Shards: 1}}}); err == nil {
		t.Error("a board name that leaves the folder was taken")
	}
}
