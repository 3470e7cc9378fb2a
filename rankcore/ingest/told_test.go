package ingest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"rankgate/rankcore"
)

// An applier that starts anew behind where it was knows nothing of the log's end until it has read up to it: that every
// shard follows from there does not make them current.
func TestCaughtUpIsOfTheCursor(t *testing.T) {
	_, a, m := applierOn(t, 2)
	first, err := a.stream.newest(t.Context(), a.board.ID)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, a.owner, a.board, add("second", "alice", 1))
	for s := range a.main.shards {
		m.with(s, func(sh *modelShard) { sh.pos = first.Position }) // all went back to the same position
	}
	a.caughtUp = time.Now()
	if err := a.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.feed.stop()
	if st := a.Status(); st.Cursor != first.Position || !st.CaughtUp.IsZero() {
		t.Errorf("at %v, caught up %v; want at %v, and not known", st.Cursor, st.CaughtUp, first.Position)
	}
}

// A change tells where the shards are that took the run in, and says nothing of those that did not.
func TestAChangeTellsWhereShardsAre(t *testing.T) {
	_, a, m := applierOn(t, 8)
	at := pos(4, 4000)
	for s := range a.main.shards {
		a.main.shards[s] = shard{state: following, pos: at}
		m.with(s, func(sh *modelShard) { sh.pos = at })
	}
	alice, bob := a.board.Shard("alice"), a.board.Shard("bob")
	m.with(0, func(*modelShard) { m.down[bob] = true })
	r := runOf(a.board, at, 5, "alice", "bob")
	change := a.main.take(t.Context(), r)
	want := []rankcore.Reached{{At: r.to, Shards: []int{alice}}}
	if !reflect.DeepEqual(change.Reached, want) {
		t.Errorf("reached %v, want %v", change.Reached, want)
	}
}

// inTurn is an announcer that notes how many shards were said to be out when each change was announced.
type inTurn struct {
	out  int // as told last
	then []int
}

func (i *inTurn) Announce(rankcore.Change)     { i.then = append(i.then, i.out) }
func (i *inTurn) Progress(p rankcore.Progress) { i.out = p.ShardsOut }
func (i *inTurn) Withdraw(rankcore.BoardID)    {}

// A change says that its run was passed. That a shard did not take the run in must be known by then.
func TestAShardIsOutBeforeTheChangeIsTold(t *testing.T) {
	_, a, m := applierOn(t, 8)
	told := &inTurn{}
	a.announce = told
	at := pos(4, 4000)
	for s := range a.main.shards {
		a.main.shards[s] = shard{state: following, pos: at}
		m.with(s, func(sh *modelShard) { sh.pos = at })
	}
	alice, bob := a.board.Shard("alice"), a.board.Shard("bob")
	if alice == bob {
		t.Fatal("the users share a shard")
	}
	if err := a.put(t.Context(), &a.main, runOf(a.board, at, 5, "alice", "bob")); err != nil {
		t.Fatal(err)
	}
	m.with(0, func(*modelShard) { m.down[alice] = true })
	if err := a.put(t.Context(), &a.main, runOf(a.board, pos(6, 6000), 7, "alice", "bob")); err != nil {
		t.Fatal(err)
	}
	if len(told.then) != 2 || told.then[0] != 0 || told.then[1] != 1 {
		t.Errorf("shards out when changes were told: %v, want 0 and 1", told.then)
	}
}

// What the first steps of a small run changed is told while the others are still to be taken, and does not say that the
// run was passed; only the last part does. Together the parts tell of every user and shard, once.
func TestASmallRunIsToldInParts(t *testing.T) {
	const steps = 2*partSteps + 1
	_, a, m := applierOn(t, 4*partSteps)
	told := &heard{}
	a.announce = told
	at := pos(4, 4000)
	var users []string
	taken := map[int]bool{}
	for i := 0; len(users) < steps; i++ {
		user := fmt.Sprint("user", i)
		if s := a.board.Shard(rankcore.UserID(user)); !taken[s] {
			taken[s] = true
			users = append(users, user)
		}
	}
	for s := range a.main.shards {
		a.main.shards[s] = shard{state: following, pos: at}
		m.with(s, func(sh *modelShard) { sh.pos = at })
	}
	var before []int // changes told before each step
	m.before = func(rankcore.Step) { before = append(before, len(told.changes)) }
	r := runOf(a.board, at, 5, users...)
	if err := a.put(t.Context(), &a.main, r); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(slices.Repeat([]int{0}, partSteps), slices.Repeat([]int{1}, partSteps), []int{2})
	if !slices.Equal(before, want) {
		t.Errorf("changes told before each step: %v", before)
	}
	var to []rankcore.Position
	var named []string
	var reached []int
	for _, c := range told.changes {
		to = append(to, c.To)
		for _, u := range c.Users {
			named = append(named, string(u))
		}
		for _, part := range c.Reached {
			reached = append(reached, part.Shards...)
		}
	}
	if !slices.Equal(to, []rankcore.Position{at, at, r.to}) {
		t.Errorf("told to have passed %v, want twice %v and then %v", to, at, r.to)
	}
	slices.Sort(named)
	slices.Sort(users)
	if slices.Sort(reached); !slices.Equal(named, users) || len(reached) != steps || len(slices.Compact(reached)) != steps {
		t.Errorf("%d users and the shards %v are told of", len(named), reached)
	}
}
