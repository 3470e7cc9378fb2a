package redisstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// journey is what a node is asked at once, and lets the test answer.
type journey struct {
	shards []int
	home   chan error // nil: it answered
}

// travelling is trips to a node that answers when the test says so.
func travelling() (*trips, chan journey) {
	set := make(chan journey, 10)
	return newTrips(func(ctx context.Context, _ redis.UniversalClient, queries []query) ([]answer[reading], []error) {
		j := journey{home: make(chan error)}
		for _, q := range queries {
			j.shards = append(j.shards, q.shard)
		}
		set <- j
		answers, sick := make([]answer[reading], len(queries)), make([]error, len(queries))
		var err error
		select {
		case err = <-j.home:
		case <-ctx.Done():
			err = ctx.Err()
		}
		for i, q := range queries {
			answers[i].value.members, answers[i].err, sick[i] = int64(q.shard), err, err
		}
		return answers, sick
	}, time.Second), set
}

// TestTripsAreShared: a question goes at once while few are under way; those that come meanwhile go together, but for whom
// has left; each gets its own answer; and what is left behind is nothing.
func TestTripsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, set := travelling()
		node := &redis.Client{}
		got := make(chan int64, 10)
		ask := func(ctx context.Context, shard int) {
			go func() {
				a, _ := tr.ask(ctx, node, query{shard: shard})
				if a.err != nil {
					a.value.members = -1
				}
				got <- a.value.members
			}()
			synctest.Wait()
		}
		ask(t.Context(), 1)
		ask(t.Context(), 2)
		leaving, leave := context.WithCancel(t.Context())
		ask(leaving, 3)
		ask(t.Context(), 4)
		ask(t.Context(), 5)
		leave()
		if n := <-got; n != -1 {
			t.Errorf("who left got %d", n)
		}
		one, two := <-set, <-set
		if !slices.Equal(one.shards, []int{1}) || !slices.Equal(two.shards, []int{2}) || len(set) > 0 {
			t.Errorf("alone and at once went %v and %v, and %d more", one.shards, two.shards, len(set))
		}
		two.home <- nil
		if n := <-got; n != 2 {
			t.Errorf("the second got %d", n)
		}
		three := <-set
		if !slices.Equal(three.shards, []int{4, 5}) {
			t.Errorf("together went %v", three.shards)
		}
		three.home <- errors.New("sick")
		one.home <- nil
		all := []int64{<-got, <-got, <-got}
		slices.Sort(all)
		if !slices.Equal(all, []int64{-1, -1, 1}) {
			t.Errorf("the others got %v", all)
		}
		synctest.Wait()
		if len(tr.nodes) > 0 {
			t.Errorf("%d stops are left", len(tr.nodes))
		}
	})
}

// TestTripsEnd: a node that never answers holds nobody longer than its own deadline, and no round trip longer than its
// timeout.
func TestTripsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, set := travelling()
		node, began := &redis.Client{}, time.Now()
		for shard := range 2 * tripsAtOnce {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, sick := tr.ask(ctx, node, query{shard: shard}); !broken(sick) {
					t.Errorf("shard %d: %v", shard, sick)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(tr.nodes) > 0 || len(set) != tripsAtOnce {
			t.Errorf("after %v %d stops are left, and there were %d round trips", time.Since(began), len(tr.nodes), len(set))
		}
	})
}

// TestTripsAreBounded: no round trip carries more questions than keep a node busy for a moment.
func TestTripsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, set := travelling()
		node := &redis.Client{}
		for shard := range tripsAtOnce + 2*mostTogether + 1 {
			go func() {
				if a, err := tr.ask(t.Context(), node, query{shard: shard}); err != nil || a.value.members != int64(shard) {
					t.Errorf("shard %d: %+v, %v", shard, a, err)
				}
			}()
			synctest.Wait()
		}
		sizes := []int{}
		for len(sizes) < tripsAtOnce+3 {
			j := <-set
			sizes = append(sizes, len(j.shards))
			j.home <- nil
			synctest.Wait()
		}
		if !slices.Equal(sizes, []int{1, 1, mostTogether, mostTogether, 1}) {
			t.Errorf("round trips of %v questions", sizes)
		}
	})
}
