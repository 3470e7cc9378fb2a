package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
)

// meanwhile is a store to whose every answer something happens first: steps that an index may or may not have heard of.
type meanwhile struct {
	*redisstore.Store
	happens func()
}

func (m meanwhile) Segments(ctx context.Context, b *rankcore.Board, season rankcore.SeasonID) ([]rankcore.ShardSegments, error) {
	m.happens()
	list, err := m.Store.Segments(ctx, b, season)
	m.happens()
	return list, err
}

// TestIndexAuditBetweenSteps: steps before and after shards are read are no drift, and do not hide one.
func TestIndexAuditBetweenSteps(t *testing.T) {
	server := servers.Redis(t)
	b := board("between")
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	for i := range 200 {
		w.write(set(user(i), int64(i)))
	}
	x.ready(b)
	reads := 0
	audited := x.index.Against(meanwhile{x.Store, func() {
		reads++
		for range 20 {
			w.write(set(user(w.rnd.IntN(200)), int64(w.rnd.IntN(500))), set(user(200+w.rnd.IntN(500)), 7))
		}
	}})
	audit := func(repair bool) string {
		t.Helper()
		x.ready(b)
		reads = 0
		found, err := audited.Audit(t.Context(), b, repair)
		if err != nil || reads != 2 {
			t.Fatalf("audit: %v, the shards were read %d times", err, reads/2)
		}
		var list []string
		for _, d := range found {
			list = append(list, fmt.Sprintf("%v of %s by %d, %s, repaired %v", d.Kind, d.Season, d.Counted-d.Recorded, d.Detail, d.Repaired))
		}
		return strings.Join(list, "; ")
	}
	for range 20 {
		if got := audit(false); got != "" {
			t.Fatal(got)
		}
	}
	key := fmt.Sprintf("rank:{between:%d}:", b.Shard("ghost"))
	w.write(set("ghost", 50)) // nobody else's steps touch it
	server.Do("EVAL", `
		redis.call("ZADD", KEYS[1], "XX", -51, "ghost")
		redis.call("HINCRBY", KEYS[2], 50, -1)
		redis.call("HINCRBY", KEYS[2], 51, 1)`, "2", key+"all:main", key+"all:segment")
	want := "index of all by 0, segments of the count index: 2, the first with scores 51 to 51, repaired "
	if got := audit(false); got != want+"false" {
		t.Errorf("found %q", got)
	}
	if got := audit(true); got != want+"true" {
		t.Errorf("found %q", got)
	}
	if x.index.State(b.ID).Ready {
		t.Error("an index that differs is still asked")
	}
	if got := audit(false); got != "" {
		t.Errorf("after the repair: %s", got)
	}
}
