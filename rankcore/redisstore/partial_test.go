package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"rankgate/degrade"
	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
)

// outage is a board on four masters, one of which can be taken away.
type outage struct {
	*writer
	store   *redisstore.Store
	cluster *servers.RedisClusterServers
	away    map[int]bool // shards of the master that goes
	scores  map[rankcore.UserID]rankcore.Score
}

func newOutage(t *testing.T, name rankcore.BoardID) *outage {
	t.Helper()
	o := &outage{
		cluster: servers.RedisCluster(t, 4, 0, servers.With("cluster-require-full-coverage", "no"), servers.With("appendonly", "yes"), servers.With("appendfsync", "always")),
		away:    map[int]bool{}, scores: map[rankcore.UserID]rankcore.Score{},
	}
	s, err := redisstore.New(redisstore.Config{
		URL: o.cluster.URL, ReadTimeout: 1500 * time.Millisecond, StepTimeout: patience,
		Sentry: degrade.NewParts(nil, nil), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o.store = s
	b := board(name)
	b.Shards, b.Head, b.Freshness = 16, 100, time.Nanosecond
	o.writer = newWriter(t, s, b)
	var ops []rankcore.Op
	for i := range 1000 {
		o.scores[user(i)] = rankcore.Score(i / 2)
		ops = append(ops, set(user(i), int64(i/2)))
	}
	o.write(ops...)
	for shard := range b.Shards {
		o.away[shard] = len(keysOf(o.cluster.Masters[0], b, shard)) > 0
	}
	return o
}

// change gives a user whose shard is there another score.
func (o *outage) change(u rankcore.UserID, score int64) {
	o.tb.Helper()
	step := o.steps(set(u, score))[o.board.Shard(u)]
	at := o.step(rankcore.Step{Shard: step.Shard}).At
	step.From, step.To = at, rankcore.Position{Seq: at.Seq + 1, Time: at.Time + 1}
	if r := o.step(step); r.State != rankcore.StepApplied {
		o.tb.Fatalf("%+v", r)
	}
	o.scores[u] = rankcore.Score(score)
}

// best is the highest score there is.
func (o *outage) best() int64 { return int64(o.rows(1)[0].Score) }

// someone is a user whose shard goes, or stays.
func (o *outage) someone(away bool, from int) rankcore.UserID {
	for i := from; ; i++ {
		if o.away[o.board.Shard(user(i))] == away {
			return user(i)
		}
	}
}

// rows are what the top must be: the truth with the scores that the missing shards had.
func (o *outage) rows(n int) []rankcore.Entry {
	var rows []rankcore.Entry
	for u, s := range o.scores {
		rows = append(rows, rankcore.Entry{User: u, Score: s})
	}
	slices.SortFunc(rows, o.board.Order.Compare)
	rankcore.TiesShared.SetRanks(rows, 0, 0)
	return rows[:n]
}

func (o *outage) page(limit int) (*rankcore.Page, error) {
	return o.store.Top(o.tb.Context(), rankcore.TopQuery{Board: o.board, Season: "all", Limit: limit})
}

// isPartial asks until the store has noticed, and checks that nothing was forgotten and nobody's rank got better.
func (o *outage) isPartial(since time.Time) {
	o.tb.Helper()
	stays, goes := o.someone(false, 10), o.someone(true, 10)
	page, err := o.page(50)
	if err != nil || page.Status != rankcore.Partial || page.Reason == "" || page.Total != int64(len(o.scores)) || page.AsOf.Before(since) {
		o.tb.Fatalf("top: %+v, %v, want a partial one of all", page, err)
	}
	if want := o.rows(50); !slices.Equal(page.Entries, want) {
		o.tb.Errorf("top: %v\nwant %v", page.Entries, want)
	}
	var not *rankcore.Unavailable
	for _, p := range []rankcore.Precision{rankcore.Auto, rankcore.Approx, rankcore.Exact} {
		st, err := o.rank(stays, p)
		if err != nil || st.Status != rankcore.Partial || st.Precision != rankcore.Approx {
			o.tb.Fatalf("%v rank of one who is there: %+v, %v, want a partial estimate", p, st, err)
		}
		if want := truth(o.board.Order, o.scores, stays, o.scores[stays]); want < st.Low || want > st.High || st.AsOf.Before(since) {
			o.tb.Errorf("%v rank: %+v, want %d", p, st, want)
		}
		if st, err := o.rank(goes, p); !errors.As(err, &not) {
			o.tb.Errorf("%v rank of one whose shard is away: %+v, %v", p, st, err)
		}
	}
	if _, err := o.rank(o.someone(false, 5000), rankcore.Auto); !errors.Is(err, rankcore.ErrNotRanked) {
		o.tb.Errorf("one who is not ranked, on a shard that is there: %v", err)
	}
	if _, err := o.rank(o.someone(true, 5000), rankcore.Auto); !errors.As(err, &not) {
		o.tb.Errorf("one who is not ranked, on a shard that is away: %v, want that nobody knows", err)
	}
	o.listsArePartial(since)
	q := rankcore.RanksQuery{Board: o.board, Season: "all", Users: []rankcore.UserID{stays, o.someone(false, 990), goes, o.someone(false, 5000)}}
	batch, err := o.store.Ranks(o.tb.Context(), q)
	if err != nil || batch.Status != rankcore.Partial || batch.Reason == "" || batch.Users[1].Precision != rankcore.Approx {
		o.tb.Fatalf("batch: %+v, %v, want a partial one of estimates", batch, err)
	}
	if st := batch.Users[2]; st.Known() || st.User != goes || batch.Users[3] != nil {
		o.tb.Errorf("in a batch, one whose shard is away: %+v, one who is not ranked: %+v", st, batch.Users[3])
	}
	q.Users = []rankcore.UserID{goes}
	if batch, err := o.store.Ranks(o.tb.Context(), q); !errors.As(err, &not) {
		o.tb.Errorf("batch of one whose shard is away: %+v, %v", batch, err)
	}
}

// listsArePartial checks pages and neighbours where the rows of the missing shards are known, and deeper.
func (o *outage) listsArePartial(since time.Time) {
	o.tb.Helper()
	want := o.rows(len(o.scores))
	ask := func(q rankcore.RowsQuery) (*rankcore.Page, error) {
		q.Board, q.Season = o.board, "all"
		return o.store.Rows(o.tb.Context(), q)
	}
	expect := func(what string, q rankcore.RowsQuery, want []rankcore.Entry) {
		o.tb.Helper()
		page, err := ask(q)
		if err != nil || page.Status != rankcore.Partial || page.Reason == "" || page.Total != int64(len(o.scores)) || page.AsOf.Before(since) {
			o.tb.Errorf("%s: %+v, %v, want a partial one of all", what, page, err)
		} else if !slices.Equal(page.Entries, want) {
			o.tb.Errorf("%s: %v\nwant %v", what, page.Entries, want)
		}
	}
	var after rankcore.Place
	for from := 0; from < 40; from += 8 {
		expect(fmt.Sprint("page from ", from), rankcore.RowsQuery{After: after, Limit: 8}, want[from:from+8])
		after = rankcore.Place{Score: want[from+7].Score, User: want[from+7].User}
	}
	low, high := want[29].Score, want[10].Score
	ranged := slices.DeleteFunc(slices.Clone(want), func(e rankcore.Entry) bool { return e.Score < low || e.Score > high })
	expect("a range", rankcore.RowsQuery{Within: rankcore.Between(low, high), Limit: 100}, ranged)
	for i, e := range want[5:40] {
		if !o.away[o.board.Shard(e.User)] {
			expect("around "+string(e.User), rankcore.RowsQuery{Around: e.User, Limit: 11}, want[5+i-5:5+i+6])
		}
	}
	var not *rankcore.Unavailable
	deep := want[len(want)/2]
	place := rankcore.Place{Score: deep.Score, User: deep.User}
	if page, err := ask(rankcore.RowsQuery{After: place, Limit: 8}); !errors.As(err, &not) {
		o.tb.Errorf("a page where nothing is known: %+v, %v", page, err)
	}
	if page, err := ask(rankcore.RowsQuery{Around: o.someone(false, 10), Limit: 8}); !errors.As(err, &not) {
		o.tb.Errorf("neighbours where nothing is known: %+v, %v", page, err)
	}
}

// TestOneNodeOfFourAway: the last known rows and counts of a node that is dead or silent stand in for it, however it
// went, and all is fresh when it is back.
func TestOneNodeOfFourAway(t *testing.T) {
	o := newOutage(t, "away")
	ends := map[string][2]func(){
		"dead":   {o.cluster.Masters[0].Kill, o.cluster.Masters[0].Restart},
		"silent": {o.cluster.Masters[0].Freeze, o.cluster.Masters[0].Thaw},
	}
	for how, end := range ends {
		if page, err := o.page(50); err != nil || page.Status != rankcore.Fresh {
			t.Fatalf("before it is %s: %+v, %v", how, page, err)
		}
		if _, err := o.rank(user(5), rankcore.Approx); err != nil {
			t.Fatal(err)
		}
		since := time.Now().Add(-time.Minute)
		end[0]()
		var crowd sync.WaitGroup
		for range 25 { // who find out together that it does not answer
			crowd.Go(func() { _, _ = o.page(1) })
		}
		crowd.Wait()
		o.isPartial(since)
		if how == "dead" {
			var gone *redisstore.Away
			if err := o.store.Check(t.Context()); !errors.As(err, &gone) || gone.Nodes != 1 || gone.Of != 4 {
				t.Errorf("of the nodes is told: %v", err)
			}
		}
		o.change(o.someone(false, 20), o.best()+1) // the others go on
		if page, err := o.page(50); err != nil || !slices.Equal(page.Entries, o.rows(50)) {
			t.Errorf("with one %s, the others stood still: %v, %v", how, page, err)
		}
		if page, err := o.page(90); err == nil && !slices.Equal(page.Entries, o.rows(90)) {
			t.Errorf("deeper than ever read, with one %s: %v", how, page.Entries)
		}
		end[1]()
		err := eventually(t, func(context.Context) error {
			page, err := o.page(50)
			if err == nil && page.Status != rankcore.Fresh {
				err = fmt.Errorf("%s, because of %s", page.Status, page.Reason)
			}
			if err == nil && !slices.Equal(page.Entries, o.rows(50)) {
				t.Errorf("after it was %s: %v\nwant %v", how, page.Entries, o.rows(50))
			}
			return err
		})
		if err != nil {
			t.Fatalf("after it was %s: %v", how, err)
		}
	}
}

// TestShardsRebuilding: shards that were emptied are partial as a node that is away is; with all of them so, or with
// nothing known of one, there is no such answer.
func TestShardsRebuilding(t *testing.T) {
	server := servers.Redis(t)
	w := newWriter(t, open(t, server.URL), board("rebuilding"))
	w.fill(200)
	before := w.top(20)
	for _, key := range keysOf(server, w.board, 2) {
		server.Do("UNLINK", key)
	}
	page, err := w.store.Top(t.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: 20})
	if err != nil || page.Status != rankcore.Partial || page.Reason != rankcore.ShardRebuilding || page.Total != 200 {
		t.Fatalf("with one shard emptied: %+v, %v", page, err)
	}
	if got := w.top(20); got != before {
		t.Errorf("with one shard emptied: %s\nwant %s", got, before)
	}
	var not *rankcore.Unavailable
	if page, err := w.store.Top(t.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: 150}); !errors.As(err, &not) {
		t.Errorf("deeper than what was ever read: %+v, %v", page, err)
	}
	if page, err := open(t, server.URL).Top(t.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: 20}); !errors.As(err, &not) || not.Reason != rankcore.ShardRebuilding {
		t.Errorf("a store that has just begun: %+v, %v", page, err)
	}
	server.Do("FLUSHALL")
	if page, err := w.store.Top(t.Context(), rankcore.TopQuery{Board: w.board, Season: "all", Limit: 20}); !errors.As(err, &not) {
		t.Errorf("with all shards emptied: %+v, %v", page, err)
	}
}
