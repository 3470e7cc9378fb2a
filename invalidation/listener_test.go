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

// hearBeacon is for a beacon that answers a call of this moment.
func (l *Listener) hearBeacon(t *testing.T, n number, p rankcore.Progress) {
	t.Helper()
	l.calls.next(time.Now())
	l.hearBeaconAfter(t, l.calls.n, n, p)
}

// hearBeaconAfter is for one whose sender had heard the given call last.
func (l *Listener) hearBeaconAfter(t *testing.T, call uint64, n number, p rankcore.Progress) {
	t.Helper()
	payload, err := encodeBeacon(n, []rankcore.Progress{p}, map[string]uint64{l.calls.id: call}, time.Now())
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

// What was held up comes all at once and says "just now" of long ago. It is as old as the call that it answers.
func TestHeldUpBeaconsAreAsOldAsTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cache := ear()
		l.hearBeacon(t, from("a", 1), progress(1))
		called := time.Now()
		time.Sleep(time.Minute)
		for n := range uint64(300) { // one minute's beacons in one moment
			l.hearBeaconAfter(t, 1, from("a", n+2), progress(n+2))
		}
		if cache.suspicions() == 0 {
			t.Fatal("the silence was not noticed")
		}
		p, heard, _ := l.Progress("power")
		if !heard.Equal(called) || !p.CaughtUp.Equal(called) || p.Applied != at(301) {
			t.Fatalf("%+v heard at %v, want where it says it is, as of %v", p, heard, called)
		}
		l.hearBeacon(t, from("a", 302), progress(302))
		if _, heard, _ := l.Progress("power"); !heard.Equal(time.Now()) {
			t.Fatal("a beacon that answers a call of now was not believed")
		}
	})
}

// A beacon that answers no call of this listener's, or one of which the time is forgotten, says where shards are and
// nothing about now.
func TestBeaconsThatAnswerNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := ear()
		l.hearBeaconAfter(t, 0, from("a", 1), progress(5))
		if _, _, ok := l.Progress("power"); ok {
			t.Error("believed, and it answers no call")
		}
		if !l.boards["power"].passed(at(5)) {
			t.Error("where its shards are is not known")
		}
		for range echoKept + 1 {
			l.calls.next(time.Now())
		}
		l.hearBeaconAfter(t, 1, from("a", 2), progress(6))
		l.hearBeaconAfter(t, l.calls.n+1, from("a", 3), progress(7))
		if _, _, ok := l.Progress("power"); ok {
			t.Error("believed, and the call is forgotten, or has not been made")
		}
	})
}

// The next beacon may answer the same call and be sent later: then less is known from it than from the one before.
func TestWhatWasKnownStaysKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := ear()
		told := progress(5)
		l.hearBeacon(t, from("a", 1), told)
		was := told.CaughtUp
		time.Sleep(100 * time.Millisecond)
		l.hearBeaconAfter(t, 1, from("a", 2), told)
		if p, _, _ := l.Progress("power"); !p.CaughtUp.Equal(was) {
			t.Errorf("caught up as of %v, want still %v", p.CaughtUp, was)
		}
		told.CaughtUp = time.Time{}
		l.hearBeacon(t, from("a", 3), told)
		if p, _, _ := l.Progress("power"); !p.CaughtUp.IsZero() {
			t.Errorf("caught up as of %v, and the source does not know any more", p.CaughtUp)
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
