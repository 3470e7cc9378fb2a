package invalidation

import (
	"maps"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// Changes that go out as one keep where each shard is: one that was not part of the last is where the one before left it.
func TestWhereShardsAreCrosses(t *testing.T) {
	server := servers.NATS(t)
	l, cache, _ := listen(t, server.URL)
	a, _ := announce(t, server.URL, time.Hour)
	change := func(n uint64, shards ...int) rankcore.Change {
		return rankcore.Change{Board: "power", To: at(n), All: true, Reached: []rankcore.Reached{{At: at(n), Shards: shards}}}
	}
	for _, c := range []rankcore.Change{change(1, 0, 7, 255), change(3, 7), change(2, 7, 9), change(4, 0)} {
		a.Announce(c)
	}
	if err := l.Applied(t.Context(), "power", at(4)); err != nil {
		t.Fatal(err)
	}
	want := map[int]rankcore.Position{0: at(4), 7: at(3), 9: at(2), 255: at(1)}
	if got := cache.shards(); !maps.Equal(got, want) {
		t.Errorf("shards are at %v, want %v", got, want)
	}
}
