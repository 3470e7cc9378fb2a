package invalidation

import (
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// A beacon that came over a slow link is as old as the link is slow, though both clocks say that it is new.
func TestSlowLinksCount(t *testing.T) {
	server := servers.NATS(t)
	l := &link{conn: connect(t, server.URL)}
	l.measure(t.Context())
	quick := l.delay(time.Now())
	if quick <= 0 || l.asked.Load() != 0 {
		t.Fatalf("a round trip of %v, begun at %d", quick, l.asked.Load())
	}
	server.Freeze()
	measured := make(chan struct{})
	go func() {
		l.measure(t.Context())
		close(measured)
	}()
	eventually(t, "the silence to count", func() bool { return l.delay(time.Now()) > quick+50*time.Millisecond })
	server.Thaw()
	<-measured
	if l.asked.Load() != 0 || l.delay(time.Now()) < 50*time.Millisecond {
		t.Fatalf("after the answer came late: %v", l.delay(time.Now()))
	}
	eventually(t, "a quick link to count as one again", func() bool {
		l.measure(t.Context())
		return l.delay(time.Now()) < 50*time.Millisecond
	})
}

func TestListenersAddTheirLinksDelay(t *testing.T) {
	l, _ := ear()
	const slow = 300 * time.Millisecond
	l.link.round.Store(int64(slow))
	told := progress(7)
	told.CaughtUp = time.Now()
	l.hearBeacon(t, from("a", 1), told)
	got, _, ok := l.Progress(told.Board)
	if !ok || got.CaughtUp.After(time.Now().Add(-slow)) {
		t.Errorf("caught up %v ago over a link of %v", time.Since(got.CaughtUp), slow)
	}
}
