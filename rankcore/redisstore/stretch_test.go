package redisstore_test

import (
	"context"
	"slices"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/countindex"
)

// passing is an index while steps go on: once it has answered, some are taken before the shards are read.
type passing struct {
	*countindex.Index
	answered func()   // when it has
	steps    []func() // one after each answer
	asked    int
}

func (p *passing) pass() {
	p.asked++
	if p.answered != nil {
		p.answered()
	}
	if len(p.steps) > 0 {
		step := p.steps[0]
		p.steps = p.steps[1:]
		step()
	}
}

func (p *passing) Stretch(ctx context.Context, q rankcore.StretchQuery) (rankcore.Stretch, error) {
	st, err := p.Index.Stretch(ctx, q)
	p.pass()
	return st, err
}

func (p *passing) Places(ctx context.Context, q rankcore.PlacesQuery) (rankcore.Places, error) {
	places, err := p.Index.Places(ctx, q)
	p.pass()
	return places, err
}

// TestRowsAreReadAgainOnlyWhereTheyChange: on a busy board some shards have always changed when their rows are read. That
// costs a second reading of these, and rows, ranks and total are all of the index's last answer.
func TestRowsAreReadAgainOnlyWhereTheyChange(t *testing.T) {
	server := servers.Redis(t)
	b := board("passing")
	b.Shards = 16
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	scores := map[rankcore.UserID]rankcore.Score{}
	write := func(ops ...rankcore.Op) {
		for _, op := range ops {
			scores[op.User] = op.Value
		}
		w.write(ops...)
	}
	var ops []rankcore.Op
	for i := range 3000 {
		ops = append(ops, set(user(i), int64(10*i)))
	}
	write(ops...)
	x.ready(b)
	counter := &passing{Index: x.index}
	store := openCounting(t, server.URL, counter)
	shardOf := func(i int) int { return b.Shard(user(i)) }
	far := func() { write(set(user(2900), 40_000), set(user(10), 3)) } // above and below, in two shards
	near := func() { write(set(user(1490), 14_905), set(user(20), 14_907)) }
	twice := 2
	if shardOf(2900) == shardOf(10) {
		twice = 1
	}
	for _, c := range []struct {
		name  string
		steps []func()
		asked int // questions to the index
		more  int // shards read once more; negative is any number
	}{
		{"nothing", nil, 1, 0},
		{"far away", []func(){far}, 2, twice},
		{"among the rows", []func(){near}, 2, -1},
		{"again and again", []func(){far, near, far}, 2, twice},
	} {
		for name, q := range map[string]rankcore.RowsQuery{
			"page":   {Limit: 50, After: rankcore.Place{Score: 15_000, User: user(1500)}},
			"around": {Limit: 11, Around: user(1495)},
		} {
			q.Board, q.Season = b, "all"
			write(set(user(2900), 29_000), set(user(10), 100), set(user(1490), 14_900), set(user(20), 200)) // as at first
			counter.steps, counter.asked = slices.Clone(c.steps), 0
			var want []rankcore.Entry // at the index's last answer
			counter.answered = func() { want = rowsOf(b, scores, q) }
			server.Do("CONFIG", "RESETSTAT")
			page, err := store.Rows(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(page.Entries, want) || page.Total != int64(len(scores)) {
				t.Errorf("%s, %s: %+v of %d, not %+v", c.name, name, page.Entries, page.Total, want)
			}
			if counter.asked != c.asked {
				t.Errorf("%s, %s: the index was asked %d times", c.name, name, counter.asked)
			}
			if n := calls(server, "zrange"); c.more >= 0 && n != b.Shards+c.more {
				t.Errorf("%s, %s: rows were read %d times from %d shards", c.name, name, n, b.Shards)
			}
			if n := calls(server, "zcount"); n > 0 {
				t.Errorf("%s, %s: %d shards were asked to count", c.name, name, n)
			}
		}
	}
}

// TestABatchIsExactWhileOthersMove: shards change while ranks are counted, and that is no reason to estimate.
func TestABatchIsExactWhileOthersMove(t *testing.T) {
	server := servers.Redis(t)
	b := board("moving")
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	w.fill(2000)
	x.ready(b)
	counter := &passing{Index: x.index}
	store := openCounting(t, server.URL, before{counter, func() {
		w.write(set(user(w.rnd.IntN(1000)), -1-int64(w.rnd.IntN(1000))), set(user(w.rnd.IntN(1000)), -5), set(user(w.rnd.IntN(1000)), -9), set(user(w.rnd.IntN(1000)), -7))
	}})
	users := []rankcore.UserID{user(1001), user(1500), user(1999)}
	batch, err := store.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: users})
	if err != nil {
		t.Fatal(err)
	}
	for i, st := range batch.Users {
		alone, err := x.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: users[i], Precision: rankcore.Exact})
		if err != nil || st.Precision != rankcore.Exact || st.Score != alone.Score {
			t.Errorf("%+v, alone %+v, %v", st, alone, err)
		}
	}
	if counter.asked != 1 {
		t.Errorf("the index was asked %d times", counter.asked)
	}
}

// before is an index before each of whose counts something happens.
type before struct {
	*passing
	happens func()
}

func (b before) Places(ctx context.Context, q rankcore.PlacesQuery) (rankcore.Places, error) {
	b.happens()
	return b.passing.Places(ctx, q)
}
