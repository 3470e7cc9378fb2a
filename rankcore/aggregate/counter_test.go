package aggregate

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

var wherePower = rankcore.AboveQuery{Board: power, Season: "all", Key: 1}

// Where nobody listens, and where somebody does and says nothing, few questions find that out, and each is told at once.
func TestACoreThatDoesNotCountIsAskedSeldom(t *testing.T) {
	server := servers.NATS(t)
	counter := NewCounter(CounterConfig{Conn: connect(t, server.URL), Boards: []*rankcore.Board{power}, Shards: "model"})
	ask := func(times int) {
		t.Helper()
		for range times {
			if _, err := counter.Above(t.Context(), wherePower); !errors.Is(err, rankcore.ErrNotCounted) {
				t.Fatal(err)
			}
			if _, err := counter.Head(t.Context(), rankcore.HeadQuery{Board: "power", Season: "all", Rows: 1}); !errors.Is(err, rankcore.ErrNotCounted) {
				t.Fatal(err)
			}
			if _, err := counter.Stretch(t.Context(), rankcore.StretchQuery{Board: "power", Season: "all", Forth: 1}); !errors.Is(err, rankcore.ErrNotCounted) {
				t.Fatal(err)
			}
			if _, err := counter.Places(t.Context(), rankcore.PlacesQuery{Board: "power", Season: "all", Keys: []int64{1}}); !errors.Is(err, rankcore.ErrNotCounted) {
				t.Fatal(err)
			}
			if _, err := counter.Segments(t.Context(), "power", "all"); !errors.Is(err, rankcore.ErrNotCounted) {
				t.Fatal(err)
			}
		}
	}
	ask(100)
	if n := counted(t, counter.metrics.unheard) + counted(t, counter.metrics.late); n < 1 || n >= 300 {
		t.Errorf("asked %v times where nobody listens", n)
	}
	silent := connect(t, server.URL)
	var heard atomic.Int64
	if _, err := silent.Subscribe(countSubject("model", "power"), func(*nats.Msg) { heard.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if err := silent.Flush(); err != nil {
		t.Fatal(err)
	}
	counter.boards["power"].until.Store(0)
	before := counted(t, counter.metrics.late)
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() { ask(20) })
	}
	work.Wait()
	if late := counted(t, counter.metrics.late) - before; late < 1 || late >= 1200 {
		t.Errorf("asked %v times where nobody answers", late)
	}
	if _, err := counter.Above(t.Context(), rankcore.AboveQuery{Board: &rankcore.Board{ID: "other"}}); !errors.Is(err, rankcore.ErrNotCounted) {
		t.Errorf("a board of nobody: %v", err)
	}
}

// Garbage is refused by the server, and does not reach the index.
func TestGarbageIsNoQuestionAboutCounts(t *testing.T) {
	s := NewServer(ServerConfig{Boards: []*rankcore.Board{power}})
	for _, asked := range [][]byte{
		nil,
		{version},
		[]byte(`{"v":1}`), make([]byte, maxQuestion+maxKeys+maxShardsSeen+1),
		encodeQuestion(question{kind: askPlaces + 1, season: "all"}),
		encodeQuestion(question{kind: askAbove, season: "all", shard: power.Shards}),
		encodeQuestion(question{kind: askStretch, season: "all", n: rankcore.MaxScore + 1, forth: 1}),
		encodeQuestion(question{kind: askStretch, season: "all", forth: rankcore.MaxRows + 2}),
		encodeQuestion(question{kind: askPlaces, season: "all", keys: make([]int64, rankcore.MaxUsers+1)}),
		append(encodeQuestion(question{kind: askHead, season: "all"}), 0),
	} {
		if answer, err := s.count(s.boards["power"], asked); err == nil {
			t.Errorf("%x is answered with %x", asked, answer)
		}
	}
}
