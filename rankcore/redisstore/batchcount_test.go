package redisstore_test

import (
	"context"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
)

// eventful is a counter with something happening before it is asked for places, and after it has told them.
type eventful struct {
	redisstore.Counter
	before func()
	after  func(error)
}

func (e *eventful) Places(ctx context.Context, q rankcore.PlacesQuery) (rankcore.Places, error) {
	e.before()
	p, err := e.Counter.Places(ctx, q)
	e.after(err)
	return p, err
}

// A user moves while a batch is counted, so that it has to be counted again; then others move, and NATS dies before the core
// can tell. What was counted at first is of another moment than the scores that were read since, and is not shown.
func TestABatchThatCannotBeCountedAgain(t *testing.T) {
	for name, head := range map[string]int{"in the head": 1000, "below the head": 1} {
		t.Run(name, func(t *testing.T) {
			server, log := servers.Redis(t), servers.NATS(t)
			b := board("again")
			b.Head = head
			r := openRemote(t, server.URL, log.URL, b)
			w := newWriter(t, r.core.Store, b)
			w.to = r
			w.write(set("abe", 10), set("bob", 20), set("cy", -5)) // cy is the last, so that the head is read down to there
			for i := range 40 {
				w.write(set(user(i), int64(1000+i)), set(user(100+i), int64(i%10)))
			}
			places, told := 0, false
			counter := &eventful{
				Counter: r.counter,
				before: func() {
					if places++; places == 1 {
						w.write(add("bob", 1))
					}
				},
				after: func(err error) {
					if told = told || err == nil; err != nil || places > 1 {
						return
					}
					var ops []rankcore.Op
					for i := range 40 {
						ops = append(ops, set(user(100+i), int64(2000+i)))
					}
					w.write(ops...)
					log.Kill()
				},
			}
			store := openCounting(t, server.URL, counter)
			q := rankcore.RanksQuery{Board: b, Season: "all", Users: []rankcore.UserID{"abe", "bob", "cy"}}
			var batch *rankcore.Standings
			var err error
			for !told { // on a busy machine the core may be late, and then all of it is tried again
				places = 0
				r.find(b)
				if batch, err = store.Ranks(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			if places < 2 {
				t.Fatal("the batch was not counted again")
			}
			for i, u := range q.Users {
				now, err := store.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: u, Precision: rankcore.Exact})
				if err != nil {
					t.Fatal(err)
				}
				if st := batch.Users[i]; st.Score != now.Score || st.Precision == rankcore.Exact && st.Rank != now.Rank || head > 1 && st.Precision != rankcore.Exact {
					t.Errorf("%s: %+v, and stands %+v", u, st, now)
				}
			}
		})
	}
}
