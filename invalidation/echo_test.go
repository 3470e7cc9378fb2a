package invalidation

import (
	"fmt"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// A link that was quick a moment ago stalls: what was told before and comes late is not taken for news of now.
func TestAStalledLinkMakesNothingYounger(t *testing.T) {
	server := servers.NATS(t)
	l, _, _ := listen(t, server.URL)
	a, _ := announce(t, server.URL, 5*time.Millisecond)
	told := time.Now()
	a.Progress(rankcore.Progress{Board: "power", Applied: at(1), CaughtUp: told})
	eventually(t, "progress", func() bool {
		_, _, ok := l.Progress("power")
		return ok
	})
	for range 5 {
		_, before, _ := l.Progress("power")
		server.Freeze()
		<-time.After(50 * time.Millisecond) // for so long
		server.Thaw()
		eventually(t, "a beacon that answers a later call", func() bool {
			p, heard, _ := l.Progress("power")
			if p.CaughtUp.After(told) {
				t.Fatalf("caught up %v later than it ever was", p.CaughtUp.Sub(told))
			}
			return heard.Sub(before) > 100*time.Millisecond
		})
	}
}

func TestEchoesAreBounded(t *testing.T) {
	var e echoes
	now := time.Now()
	for i := range 2 * maxListeners {
		e.hear(fmt.Appendf(nil, `{"v":1,"source":"l%d","n":7}`, i), now)
	}
	for _, garbage := range []string{"", "{}", "7", `{"n":3}`, `{"source":"x"}`, `{"source":"x","n":-1}`} {
		e.hear([]byte(garbage), now)
	}
	if heard := e.newest(now); len(heard) != maxListeners || heard["l0"] != 7 {
		t.Errorf("%d listeners are remembered, want %d", len(heard), maxListeners)
	}
	if heard := e.newest(now.Add(forgotten + 1)); len(heard) != 0 {
		t.Errorf("%d listeners are remembered that went away", len(heard))
	}
}
