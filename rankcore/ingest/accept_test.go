package ingest

import (
	"fmt"
	"testing"
)

// TestAcceptedLoss: shards that the log no longer reaches back to stand still until an operator accepts what that costs.
// Then they have what the log still has, say that they lack the rest, and the others are as they were.
func TestAcceptedLoss(t *testing.T) {
	r := newRedisRig(t)
	users := []string{"", "", "", ""} // by shard
	for i := 0; users[0] == "" || users[1] == "" || users[2] == "" || users[3] == ""; i++ {
		u := fmt.Sprint("late", i)
		users[r.board.Shard(add("", u, 0).User)] = u
	}
	kept := mustAppend(t, r.log, r.board, add("", users[0], 7), add("", users[1], 7), add("", users[2], 7), add("", users[3], 7))
	settled(t, r.applier, r.raw())
	purgeBefore(t, r.raw(), kept.Seq)
	members := func(shard int) int64 { return r.redis.Do("ZCARD", r.key(shard, "all:main")).(int64) }
	whole := members(2)
	for _, key := range r.redis.Do("KEYS", r.key(0, "*")).([]any) {
		r.redis.Do("DEL", key.(string))
	}
	r.redis.Do("ZADD", r.key(1, "all:main"), "-9", "foreign")
	stand := func(n int) {
		t.Helper()
		eventually(t, func() string {
			if st := r.applier.Status(); st.Rebuild != n {
				return fmt.Sprintf("%+v, want %d to be rebuilt", st, n)
			}
			return ""
		})
	}
	stand(2)
	if n, err := r.auditor.AcceptLoss(t.Context(), r.board); n != 2 || err != nil {
		t.Fatalf("accepted for %d shards: %v, want 2", n, err)
	}
	stand(0)
	late := mustAppend(t, r.log, r.board, add("", users[0], 1))
	settled(t, r.applier, r.raw())
	if got := members(0); got != 1 {
		t.Errorf("the emptied shard has %d members, want the one that the log still had", got)
	}
	if got := members(1); got != 1 {
		t.Errorf("the damaged shard has %d members, want the one that the log still had", got)
	}
	if got := members(2); got != whole {
		t.Errorf("a shard that was well has %d members, want %d", got, whole)
	}
	if got := r.redis.Do("ZSCORE", r.key(0, "all:main"), users[0]); got != "-8" {
		t.Errorf("%s has key %v, want -8", users[0], got)
	}
	for shard, where := range r.store.Positions(t.Context(), r.board) {
		if where.Lost != (shard < 2) || where.At.Seq < late.Seq && shard == 0 {
			t.Errorf("shard %d: %+v", shard, where)
		}
	}
	expect(t, verify(t, r.auditor, r.board, false))
	if n, err := r.auditor.AcceptLoss(t.Context(), r.board); n != 0 || err != nil {
		t.Errorf("accepted again for %d shards: %v, want none", n, err)
	}
}
