package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// move is one slot on its way from a master to another.
type move struct {
	t        *testing.T
	slot     string
	from, to *servers.RedisServer
	ids      [2]string
	cluster  *servers.RedisClusterServers
}

// beginMove opens the slot of a shard on both sides, as a resharding does.
func beginMove(t *testing.T, c *servers.RedisClusterServers, b *rankcore.Board, shard int) *move {
	t.Helper()
	m := &move{t: t, cluster: c, slot: fmt.Sprint(c.Masters[0].Do("CLUSTER", "KEYSLOT", fmt.Sprintf("rank:{%s:%d}:meta", b.ID, shard)))}
	for i, master := range c.Masters {
		if n := master.Do("CLUSTER", "COUNTKEYSINSLOT", m.slot); n != int64(0) {
			m.from, m.to = master, c.Masters[(i+1)%len(c.Masters)]
		}
	}
	if m.from == nil {
		t.Fatalf("no master has keys in slot %s", m.slot)
	}
	m.ids = [2]string{fmt.Sprint(m.from.Do("CLUSTER", "MYID")), fmt.Sprint(m.to.Do("CLUSTER", "MYID"))}
	m.to.Do("CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.ids[0])
	m.from.Do("CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.ids[1])
	return m
}

// moveKey moves one of the keys that are left.
func (m *move) moveKey() (moved bool) {
	m.t.Helper()
	names, _ := m.from.Do("CLUSTER", "GETKEYSINSLOT", m.slot, "1").([]any)
	if len(names) == 0 {
		return false
	}
	host, port, err := net.SplitHostPort(m.to.Addr)
	if err != nil {
		m.t.Fatal(err)
	}
	m.from.Do("MIGRATE", host, port, fmt.Sprint(names[0]), "0", "5000")
	return true
}

func (m *move) end() {
	for _, master := range []*servers.RedisServer{m.to, m.from, m.cluster.Masters[0], m.cluster.Masters[1], m.cluster.Masters[2]} {
		master.Do("CLUSTER", "SETSLOT", m.slot, "NODE", m.ids[1])
	}
}

// TestSlotOnTheMove: while a shard's keys are partly on one node and partly on another, nothing is written, nothing
// is read, and above all the shard is not called damaged, since that would empty it. Then it goes on where it was.
func TestSlotOnTheMove(t *testing.T) {
	cluster := servers.RedisCluster(t, 3, 0)
	for _, ties := range []rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst} {
		t.Run(ties.String(), func(t *testing.T) {
			b := oneShard(rankcore.BoardID("move-" + ties.String()))
			b.Ties = ties
			testSlotOnTheMove(t, cluster, b)
		})
	}
}

func testSlotOnTheMove(t *testing.T, cluster *servers.RedisClusterServers, b *rankcore.Board) {
	w := newWriter(t, open(t, cluster.URL), b)
	everything(w)
	w.moves = true // a step that is taken during the move would make a key
	m := beginMove(t, cluster, w.board, 0)
	refused := 0
	for m.moveKey() {
		for _, r := range []rankcore.StepResult{w.step(w.steps(add("abe", 1))[0]), w.store.Positions(t.Context(), w.board)[0]} {
			switch {
			case r.State == rankcore.StepDamaged:
				t.Fatal("a shard on the move was called damaged")
			case r.State == rankcore.StepFailed:
				refused++
			case r.At.Seq > w.at.Seq:
				w.at = r.At
			}
		}
		_ = w.store.Reset(t.Context(), w.board, 0) // it may find the shard whole, or not be able to tell
	}
	m.end()
	if refused == 0 {
		t.Error("every step was taken: the slot cannot have been split")
	}
	w.write(add("zoe", 1))
	w.write(rankcore.Op{User: "zoe", Kind: rankcore.OpShow}, add("dan", 1))
	if got, want := w.top(2), "1 cat 9, 2 zoe 8"; got != want {
		t.Errorf("after the move: %s, want %s", got, want)
	}
}

// TestMasterReplaced: when a replica takes a dead master's place, the store finds it by itself.
func TestMasterReplaced(t *testing.T) {
	cluster := servers.RedisCluster(t, 3, 1)
	w := newWriter(t, open(t, cluster.URL), board("failover"))
	everything(w)
	before := w.top(10)
	awaitReplica(t, cluster)
	cluster.Masters[0].Kill()
	positions := func(ctx context.Context) error {
		for i, r := range w.store.Positions(ctx, w.board) {
			if r.State != rankcore.StepAt || r.At != w.at {
				return fmt.Errorf("shard %d: %+v", i, r)
			}
		}
		return nil
	}
	top := func(ctx context.Context) error {
		_, err := w.store.Top(ctx, rankcore.TopQuery{Board: w.board, Season: "all", Limit: 1})
		return err
	}
	for _, asked := range []func(context.Context) error{positions, top} {
		if err := eventually(t, asked); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.top(10); got != before {
		t.Errorf("after the failover: %s, want %s", got, before)
	}
	w.write(add("abe", 1))
}

// awaitReplica returns when the replica has all that its master has. WAIT would tell of its own connection only.
func awaitReplica(t *testing.T, c *servers.RedisClusterServers) {
	t.Helper()
	err := eventually(t, func(context.Context) error {
		if a, b := offset(c.Masters[0]), offset(c.Replicas[0]); a != b || a == "" {
			return fmt.Errorf("the master is at %s, its replica at %s", a, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func offset(r *servers.RedisServer) string {
	text, _ := r.Do("INFO", "replication").(string)
	for line := range strings.Lines(text) {
		for _, name := range []string{"slave_repl_offset:", "master_repl_offset:"} {
			if value, ok := strings.CutPrefix(line, name); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}
