package ingest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
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

// The first message brings every shard of a board to it, also those that it has nothing for: there are no answers before.
func TestTheFirstMessageReachesEveryShard(t *testing.T) {
	_, a, m := applierOn(t, 40) // in more than one part
	for s := range a.main.shards {
		a.main.shards[s] = shard{state: following}
	}
	first := runOf(a.board, rankcore.Position{}, 1, "alice")
	a.main.take(t.Context(), first)
	second := runOf(a.board, first.to, 2, "bob")
	a.main.take(t.Context(), second)
	for s := range a.main.shards {
		want := first.to
		if s == a.board.Shard("bob") {
			want = second.to
		}
		m.with(s, func(sh *modelShard) {
			if sh.pos != want || a.main.shards[s].pos != want {
				t.Errorf("shard %d is at %v, and known to be at %v; want %v", s, sh.pos, a.main.shards[s].pos, want)
			}
		})
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

// standing puts every shard at a position, and names so many users that no two share a shard.
func standing(t *testing.T, a *Applier, m *model, at rankcore.Position, n int) (users []string) {
	t.Helper()
	taken := map[int]bool{}
	for i := 0; len(users) < n; i++ {
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
	return users
}

// onAnnounce calls then with each change.
type onAnnounce struct {
	*heard
	then func()
}

func (o onAnnounce) Announce(c rankcore.Change) {
	o.heard.Announce(c)
	o.then()
}

// What the first steps of a small run changed is told while others are still to be taken, and does not say that the
// run was passed; only the last part does. Together the parts tell of every user and shard, once.
func TestASmallRunIsToldInParts(t *testing.T) {
	const parts = 5
	const steps = (parts-1)*partSteps + 1
	_, a, m := applierOn(t, 256)
	at := pos(4, 4000)
	users := standing(t, a, m, at, steps)
	var sent atomic.Int64
	m.before = func(rankcore.Step) { sent.Add(1) }
	var before []int64 // steps sent before each change was told
	told := &heard{}
	a.announce = onAnnounce{told, func() { before = append(before, sent.Load()) }}
	r := runOf(a.board, at, 5, users...)
	if err := a.put(t.Context(), &a.main, r); err != nil {
		t.Fatal(err)
	}
	for i, n := range before {
		if least, most := min((i+1)*partSteps, steps), min((i+partsAtOnce)*partSteps, steps); n < int64(least) || n > int64(most) {
			t.Errorf("%d steps were sent before change %d was told, want %d to %d", n, i, least, most)
		}
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
	if !slices.Equal(to, append(slices.Repeat([]rankcore.Position{at}, parts-1), r.to)) {
		t.Errorf("told to have passed %v, want %v in the end and %v before", to, r.to, at)
	}
	slices.Sort(named)
	slices.Sort(users)
	if slices.Sort(reached); !slices.Equal(named, users) || len(reached) != steps || len(slices.Compact(reached)) != steps {
		t.Errorf("%d users and the shards %v are told of", len(named), reached)
	}
}

// While the store takes one part of a small run it has the next already.
func TestPartsAreUnderWayTogether(t *testing.T) {
	const steps = 4 * partSteps
	_, a, m := applierOn(t, 256)
	users := standing(t, a, m, pos(4, 4000), steps)
	first := map[int]bool{} // shards of the first part
	shards := make([]int, 0, steps)
	for _, u := range users {
		shards = append(shards, a.board.Shard(rankcore.UserID(u)))
	}
	slices.Sort(shards)
	for _, s := range shards[:partSteps] {
		first[s] = true
	}
	next := make(chan struct{})
	var once sync.Once
	m.before = func(s rankcore.Step) {
		if first[s.Shard] {
			select {
			case <-next:
			case <-time.After(10 * time.Second):
				t.Error("nothing else was sent while the first part was held")
			}
			return
		}
		once.Do(func() { close(next) })
	}
	a.main.take(t.Context(), runOf(a.board, pos(4, 4000), 5, users...))
	for _, s := range shards {
		m.with(s, func(sh *modelShard) {
			if sh.steps != 1 {
				t.Errorf("shard %d took %d steps, want 1", s, sh.steps)
			}
		})
	}
}

// calls counts those that apply steps.
type calls struct {
	*model
	n atomic.Int64
}

func (c *calls) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	c.n.Add(1)
	return c.model.Apply(ctx, b, steps)
}

// A store that is silent is not waited for with each part of a run: what is left goes at once. And whoever answers
// takes in what is for it.
func TestASilentNodeIsNotWaitedForInEachPart(t *testing.T) {
	const steps = 8 * partSteps
	_, a, m := applierOn(t, 256)
	at := pos(4, 4000)
	users := standing(t, a, m, at, steps)
	for _, u := range users[1:] {
		m.down[a.board.Shard(rankcore.UserID(u))] = true
	}
	store := &calls{model: m}
	a.store = store
	r := runOf(a.board, at, 5, users...)
	change := a.main.take(t.Context(), r)
	if n := store.n.Load(); n > partsAtOnce+1 {
		t.Errorf("a silent store was called %d times for one run", n)
	}
	if a.main.cursor != r.to || change.To != r.to || a.inState(unknown) != steps-1 {
		t.Errorf("at %v, told of %v, and %d shards unknown", a.main.cursor, change.To, a.inState(unknown))
	}
	m.with(a.board.Shard(rankcore.UserID(users[0])), func(sh *modelShard) {
		if sh.pos != r.to {
			t.Errorf("the shard that answers is at %v", sh.pos)
		}
	})
}

// Who wrote a single score does not wait for the shards of a large message that came before it.
func TestSmallMessagesGoFirst(t *testing.T) {
	_, a, m := applierOn(t, 256)
	at := pos(4, 4000)
	users := standing(t, a, m, at, 4*partSteps)
	byShard := func(u, v string) int {
		return cmp.Compare(a.board.Shard(rankcore.UserID(u)), a.board.Shard(rankcore.UserID(v)))
	}
	slices.SortFunc(users, byShard)
	single := users[len(users)-1]
	var large []rankcore.Op
	for i, u := range users {
		large = append(large, add(fmt.Sprint("large", i), u, 1))
	}
	r := newReader(a.board, time.Time{}).understand(at, []entry{
		{Position: pos(5, 5000), data: rankcore.AppendMessage(nil, a.board, large)},
		{Position: pos(6, 6000), data: rankcore.AppendMessage(nil, a.board, []rankcore.Op{add("single", single, 10)})},
	})
	told := &heard{}
	a.announce = told
	if err := a.put(t.Context(), &a.main, r); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(told.changes[0].Users, rankcore.UserID(single)) {
		t.Errorf("told of first: %v, want %s among them", told.changes[0].Users, single)
	}
	m.with(a.board.Shard(rankcore.UserID(single)), func(sh *modelShard) {
		if got := sh.scores[rankcore.UserID(single)]; got != 11 || sh.pos != r.to {
			t.Errorf("the shard has %d at %v, want both messages in it", got, sh.pos)
		}
	})
}

// The rest grows with what it saves: from a third of the work while shards have an operation each to all of it where
// they have two, and it never takes much of the freshness bound.
func TestRestGrowsWithOperationsPerShard(t *testing.T) {
	_, a, m := applierOn(t, 256)
	a.board.Freshness = time.Second
	users := standing(t, a, m, pos(4, 4000), 4)
	const took = 12 * time.Millisecond
	for _, c := range []struct {
		users []string
		took  time.Duration
		want  time.Duration
	}{
		{users, took, took + took/3},
		{slices.Concat(users, users[:2]), took, took + took/2},
		{slices.Concat(users, users), took, 2 * took},
		{slices.Concat(users, users, users), took, 2 * took},
		{slices.Concat(users, users), 80 * time.Millisecond, maxRest},
		{nil, took, took + took/3}, // marks only
	} {
		if got := a.rest(runOf(a.board, pos(4, 4000), 5, c.users...), c.took); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("%d operations on 4 shards in %v: %v to the next run, want %v", len(c.users), c.took, got, c.want)
		}
	}
}
