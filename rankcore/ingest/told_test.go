package ingest

import (
	"testing"

	"rankgate/rankcore"
)

// inTurn is an announcer that notes how many shards were said to be out when each change was announced.
type inTurn struct {
	out  int // as told last
	then []int
}

func (i *inTurn) Announce(rankcore.Change)     { i.then = append(i.then, i.out) }
func (i *inTurn) Progress(p rankcore.Progress) { i.out = p.ShardsOut }

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
