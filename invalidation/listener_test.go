package invalidation

import (
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// ear is a listener whose messages the test hands over itself.
func ear() (*Listener, *notes) {
	cache := &notes{}
	return NewListener(ListenerConfig{Boards: []*rankcore.Board{power}, Evictor: cache}), cache
}

func (l *Listener) hearBroadcast(t *testing.T, n number, c rankcore.Change) {
	t.Helper()
	payload, err := encodeBroadcast(n, c)
	if err != nil {
		t.Fatal(err)
	}
	l.hear(invalidatePrefix+"power", payload, time.Now())
}

func (l *Listener) hearBeacon(t *testing.T, n number, p rankcore.Progress) {
	t.Helper()
	payload, err := encodeBeacon(n, []rankcore.Progress{p}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.hear(beaconSubject, payload, time.Now())
}

func from(source string, n uint64) number { return number{V: version, Source: source, N: n} }

func progress(seq uint64) rankcore.Progress {
	return rankcore.Progress{Board: "power", Applied: at(seq), CaughtUp: time.Now()}
}

func TestNumbers(t *testing.T) {
	cases := []struct {
		name     string
		heard    []number
		suspects int
	}{
		{"from the start, in turn", []number{from("a", 1), from("a", 2), from("a", 3)}, 0},
		{"a number missing", []number{from("a", 1), from("a", 3), from("a", 4)}, 1},
		{"two numbers missing at two times", []number{from("a", 1), from("a", 3), from("a", 5)}, 2},
		{"a source that speaks already", []number{from("a", 7), from("a", 8)}, 1},
		{"two sources", []number{from("a", 1), from("b", 1), from("a", 2), from("b", 2)}, 0},
		{"one again", []number{from("a", 1), from("a", 2), from("a", 2), from("a", 1), from("a", 3)}, 0},
		{"by hand between", []number{from("a", 1), {}, from("a", 2)}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, cache := ear()
			for _, n := range c.heard {
				l.hearBroadcast(t, n, rankcore.Change{All: true})
			}
			if got := cache.suspicions(); got != c.suspects {
				t.Errorf("suspected %d times, want %d", got, c.suspects)
			}
			if got := len(cache.changes()); got != len(c.heard) {
				t.Errorf("evicted %d times, want %d: even what comes out of turn is told", got, len(c.heard))
			}
		})
	}
}

func TestSourcesAreBounded(t *testing.T) {
	l, cache := ear()
	for i := range 10 * maxSources {
		l.hearBeacon(t, from(string(rune('a'+i%26))+string(rune('a'+i/26)), 1), progress(uint64(i)))
	}
	if len(l.sources) > maxSources {
		t.Errorf("%d sources are remembered, want at most %d", len(l.sources), maxSources)
	}
	if n := len(*l.boards["power"].reports.Load()); n > maxReports {
		t.Errorf("%d reports are remembered, want at most %d", n, maxReports)
	}
	if cache.suspicions() != 0 {
		t.Error("new sources made the cache suspect")
	}
}

func TestGarbageIsIgnored(t *testing.T) {
	l, cache := ear()
	for _, payload := range []string{"", "{}", "\xff", `{"users":7}`} {
		l.hear(invalidatePrefix+"power", []byte(payload), time.Now())
		l.hear(beaconSubject, []byte(payload), time.Now())
	}
	l.hear(invalidatePrefix+"unheard-of", []byte(`{"all":true}`), time.Now())
	l.hear(invalidatePrefix+"power.more", []byte(`{"all":true}`), time.Now())
	if len(cache.changes()) != 0 || cache.suspicions() != 0 {
		t.Fatalf("garbage was believed: %+v, %d suspicions", cache.changes(), cache.suspicions())
	}
}

func TestBestOfSeveralAppliers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := ear()
		if _, _, ok := l.Progress("power"); ok {
			t.Fatal("there is progress before any beacon")
		}
		blind := progress(4)
		blind.ShardsOut = 1
		l.hearBeacon(t, from("a", 1), progress(5))
		l.hearBeacon(t, from("b", 1), blind)
		if p, heard, ok := l.Progress("power"); !ok || p.Applied != at(5) || !heard.Equal(time.Now()) {
			t.Fatalf("%+v heard at %v, %v: want that of the applier whose shards all follow", p, heard, ok)
		}
		time.Sleep(700 * time.Millisecond)
		l.hearBeacon(t, from("b", 2), blind)
		time.Sleep(700 * time.Millisecond) // a is not heard any more
		l.hearBeacon(t, from("b", 3), blind)
		if p, _, _ := l.Progress("power"); p.ShardsOut != 1 {
			t.Fatalf("%+v: want that of the only applier still heard", p)
		}
	})
}

// What was held up by a silence comes all at once and says "just now" of long ago.
func TestHeldUpBeaconsAreNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cache := ear()
		l.hearBeacon(t, from("a", 1), progress(1))
		before := time.Now()
		time.Sleep(time.Minute)
		for n := range uint64(300) { // one minute's beacons in one moment
			l.hearBeacon(t, from("a", n+2), progress(n+2))
		}
		if cache.suspicions() == 0 {
			t.Fatal("the silence was not noticed")
		}
		if p, heard, _ := l.Progress("power"); !heard.Equal(before) || p.Applied != at(1) {
			t.Fatalf("held-up beacons were believed: %+v heard at %v", p, heard)
		}
		time.Sleep(200 * time.Millisecond)
		l.hearBeacon(t, from("a", 302), progress(302))
		if _, heard, _ := l.Progress("power"); !heard.Equal(time.Now()) {
			t.Fatal("a beacon well after the burst was not believed")
		}
	})
}

func TestAppliedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := ear()
		waited := make(chan error, 1)
		go func() { waited <- l.Applied(t.Context(), "power", at(5)) }()
		l.hearBeacon(t, from("a", 1), progress(4))
		l.hearBroadcast(t, number{}, rankcore.Change{All: true, To: at(9)}) // a hand knows no positions
		// A log that lost its tail: the sequence is there again, and older than the write asks for.
		l.hearBeacon(t, from("b", 1), rankcore.Progress{Board: "power", Applied: rankcore.Position{Seq: 6, Time: 4999}})
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		l.hearBroadcast(t, from("a", 2), rankcore.Change{All: true, To: at(5)})
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
		if err := l.Applied(t.Context(), "elsewhere", at(1)); err == nil {
			t.Fatal("a board that nobody listens to was waited for")
		}
	})
}

// A shard that catches up announces changes at positions its board has long passed.
func TestCatchingUpTakesNoPositionBack(t *testing.T) {
	l, cache := ear()
	l.hearBeacon(t, from("a", 1), progress(9))
	l.hearBroadcast(t, from("a", 2), rankcore.Change{Users: []rankcore.UserID{"abe"}, To: at(3)})
	if len(cache.changes()) != 1 {
		t.Fatal("the change was not told")
	}
	if !l.boards["power"].passed(at(9)) {
		t.Fatal("the board went back to the position of the shard that catches up")
	}
}
