package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/countindex"
	"rankgate/rankcore/redisstore"
	"rankgate/rankcore/storetest"
)

// followed is a store that is read once its count index answers, and whose steps go through the index.
type followed struct {
	*redisstore.Store
	countindex.Follower
	await func(*rankcore.Board)
}

func (f *followed) Positions(ctx context.Context, b *rankcore.Board) []rankcore.StepResult {
	return f.Follower.Positions(ctx, b)
}

func (f *followed) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	return f.Follower.Apply(ctx, b, steps)
}

func (f *followed) Reset(ctx context.Context, b *rankcore.Board, shard int) error {
	return f.Follower.Reset(ctx, b, shard)
}

func (f *followed) Rank(ctx context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	f.await(q.Board)
	return f.Store.Rank(ctx, q)
}

func (f *followed) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	f.await(q.Board)
	return f.Store.Top(ctx, q)
}

func (f *followed) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	f.await(q.Board)
	return f.Store.Rows(ctx, q)
}

func (f *followed) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	f.await(q.Board)
	return f.Store.Ranks(ctx, q)
}

// indexed is a store with a count index of its own. It runs until the test ends.
type indexed struct {
	followed
	tb    testing.TB
	index *countindex.Index
	steps heldSteps
}

// heldSteps is a store whose answers to steps can be kept back.
type heldSteps struct {
	*redisstore.Store
	hold func() // when set, called before an answer is given
}

func (h *heldSteps) Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	results := h.Store.Apply(ctx, b, steps)
	if h.hold != nil {
		h.hold()
	}
	return results
}

// openIndexed opens a store with an index. plain is where the index reads from; nil is the store itself.
func openIndexed(tb testing.TB, url string, boards ...*rankcore.Board) *indexed {
	tb.Helper()
	x := &indexed{tb: tb, index: countindex.New(countindex.Config{Boards: boards})}
	x.await = x.ready
	var err error
	x.Store, err = redisstore.New(redisstore.Config{
		URL: url, ReadTimeout: patience, StepTimeout: patience, Log: slog.New(slog.DiscardHandler), Counter: x.index,
	})
	if err != nil {
		tb.Fatal(err)
	}
	x.steps.Store = x.Store
	x.Follower = x.index.Follow(&x.steps)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- x.index.Run(ctx, x.Store) }()
	tb.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, x.Store.Close()); err != nil {
			tb.Error(err)
		}
	})
	return x
}

// ready waits until the board's index answers, and asks for positions meanwhile, as a heartbeat does.
func (x *indexed) ready(b *rankcore.Board) {
	x.tb.Helper()
	for tries := range 300_000 {
		if x.index.Ready(b.ID) {
			return
		}
		if tries%200 == 0 {
			x.Positions(x.tb.Context(), b)
		}
		<-time.After(time.Millisecond)
	}
	x.tb.Fatalf("no index of board %s: %+v", b.ID, x.index.State(b.ID))
}

// TestStoreWithIndex: an index must not change an answer.
func TestStoreWithIndex(t *testing.T) {
	server := servers.Redis(t)
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		anew(boards)
		server.Do("FLUSHALL")
		return openIndexed(t, server.URL, boards...)
	})
}

// anyOps are operations of every kind on few users and few scores, so that ties and returns are many.
func anyOps(most int) *rapid.Generator[[]rankcore.Op] {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) rankcore.Op {
		kinds := []rankcore.OpKind{rankcore.OpAdd, rankcore.OpAdd, rankcore.OpSet, rankcore.OpRemove, rankcore.OpHide, rankcore.OpShow}
		op := rankcore.Op{User: user(rapid.IntRange(0, 40).Draw(rt, "user")), Kind: rapid.SampledFrom(kinds).Draw(rt, "kind")}
		if op.Kind.HasValue() {
			op.Value = rankcore.Score(rapid.SampledFrom([]int64{0, 1, -1, 2, 100, -5_000_000, rankcore.MaxScore}).Draw(rt, "value"))
		}
		return op
	}), 0, most)
}

// TestIndexAgreesWithShards: random boards and operations, with answers lost, steps behind the index's back, shards
// flushed and fed again, seasons retired. Whenever the index answers, it answers as the shards do.
func TestIndexAgreesWithShards(t *testing.T) {
	server := servers.Redis(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b := board(rankcore.BoardID(fmt.Sprint("agree-", n)))
		b.Order = rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order")
		b.Ties = rapid.SampledFrom([]rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst}).Draw(rt, "ties")
		b.Shards = rapid.SampledFrom([]int{1, 4, 16}).Draw(rt, "shards")
		b.Head = rapid.SampledFrom([]int{3, 1000}).Draw(rt, "head")
		b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day}
		b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: time.Hour}
		b.Freshness = time.Nanosecond
		x, plain := openIndexed(t, server.URL, b), open(t, server.URL)
		w := newWriter(t, x.Store, b)
		w.to = x
		w.write(anyOps(60).Draw(rt, "there before")...)
		x.ready(b)
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			w.later += rapid.SampledFrom([]time.Duration{0, time.Minute, 26 * time.Hour}).Draw(rt, "pause")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0: // answers are lost, and the steps sent again
				steps := w.steps(anyOps(30).Draw(rt, "operations")...)
				for i := range steps {
					steps[i].Moves = true
				}
				w.store.Apply(t.Context(), b, steps)
				for i, r := range x.Apply(t.Context(), b, steps) {
					if r.At != steps[i].To {
						rt.Fatalf("sent again: %+v, want at %v", r, steps[i].To)
					}
				}
				w.at = steps[0].To
			case 1: // another core takes two steps
				w.to = plain
				w.write(anyOps(30).Draw(rt, "operations")...)
				w.write(anyOps(30).Draw(rt, "operations")...)
				w.to = x
			default:
				w.write(anyOps(30).Draw(rt, "operations")...)
			}
			x.Positions(t.Context(), b) // the heartbeat
			if rapid.Bool().Draw(rt, "wait for it") {
				x.ready(b)
			}
			if drift, err := x.index.Against(x.Store).Audit(t.Context(), b, false); len(drift) > 0 || err != nil {
				rt.Fatalf("an audit finds %+v, %v", drift, err)
			}
			today := b.SeasonAt(rankcore.Day, time.Unix(0, w.at.Time)).ID
			for _, season := range []rankcore.SeasonID{"all", today} {
				for range 12 {
					i := rapid.IntRange(0, 40).Draw(rt, "asked")
					q := rankcore.RankQuery{Board: b, Season: season, User: user(i), Precision: rankcore.Exact}
					want, err1 := plain.Rank(t.Context(), q)
					got, err2 := x.Store.Rank(t.Context(), q)
					if !errors.Is(err2, err1) || err1 == nil && (got.Rank != want.Rank || got.Tied != want.Tied || got.Total != want.Total ||
						got.Percentile != want.Percentile || got.Version != want.Version || got.Score != want.Score) {
						rt.Fatalf("%s in %s: %+v, %v\nby the shards: %+v, %v", user(i), season, got, err2, want, err1)
					}
					q.Precision = rankcore.Approx
					if got, err := x.Store.Rank(t.Context(), q); err1 == nil && (err != nil || got.Low > want.Rank || got.High < want.Rank || got.Total != want.Total) {
						rt.Fatalf("about %s in %s: %+v, %v\nby the shards: %+v", user(i), season, got, err, want)
					}
				}
				limit := rapid.IntRange(1, 50).Draw(rt, "limit")
				q := rankcore.TopQuery{Board: b, Season: season, Limit: limit}
				want, err1 := plain.Top(t.Context(), q)
				got, err2 := x.Store.Top(t.Context(), q)
				if err1 != nil || err2 != nil || fmt.Sprint(got.Entries) != fmt.Sprint(want.Entries) || got.Total != want.Total {
					rt.Fatalf("top %d of %s: %+v, %v\nby the shards: %+v, %v", limit, season, got, err2, want, err1)
				}
				x.agreesOnRows(rt, plain, anyRows(rt, b, season, w.at))
				x.agreesOnBatch(rt, plain, b, season)
			}
		}
	})
}

// anyRows asks for a page from anywhere, or for neighbours.
func anyRows(rt *rapid.T, b *rankcore.Board, season rankcore.SeasonID, at rankcore.Position) rankcore.RowsQuery {
	q := rankcore.RowsQuery{Board: b, Season: season, Limit: rapid.IntRange(1, 20).Draw(rt, "rows")}
	score := rapid.Custom(func(rt *rapid.T) rankcore.Score {
		return rankcore.Score(rapid.SampledFrom([]int64{-rankcore.MaxScore, -5_000_000, -1, 0, 1, 2, 3, 100, 101, rankcore.MaxScore}).Draw(rt, "score"))
	})
	switch rapid.IntRange(0, 4).Draw(rt, "kind of page") {
	case 0:
	case 1:
		q.Around = user(rapid.IntRange(0, 40).Draw(rt, "around"))
	case 2:
		q.Within = rankcore.Between(score.Draw(rt, "from"), score.Draw(rt, "to"))
	default:
		q.After = rankcore.Place{Score: score.Draw(rt, "after"), User: user(rapid.IntRange(0, 40).Draw(rt, "whom"))}
		if b.Ties == rankcore.TiesFirst {
			q.After.Arrival = b.Arrival(monday, at.Seq*1000-uint64(rapid.IntRange(0, 3000).Draw(rt, "arrival")), 1)
		}
	}
	return q
}

// agreesOnRows asks the store with an index and one without.
func (x *indexed) agreesOnRows(rt *rapid.T, plain *redisstore.Store, q rankcore.RowsQuery) {
	want, err1 := plain.Rows(x.tb.Context(), q)
	got, err2 := x.Store.Rows(x.tb.Context(), q)
	if errors.Is(err1, rankcore.ErrNotRanked) && errors.Is(err2, rankcore.ErrNotRanked) {
		return
	}
	if err1 != nil || err2 != nil || fmt.Sprint(got.Entries) != fmt.Sprint(want.Entries) || got.Total != want.Total || got.More != want.More || got.Version != want.Version {
		rt.Fatalf("%+v: %+v, %v\nby the shards: %+v, %v", q, got, err2, want, err1)
	}
}

// agreesOnBatch asks both for the ranks of users some of whom stand in the head.
func (x *indexed) agreesOnBatch(rt *rapid.T, plain *redisstore.Store, b *rankcore.Board, season rankcore.SeasonID) {
	q := rankcore.RanksQuery{Board: b, Season: season}
	for range rapid.IntRange(1, 5).Draw(rt, "batch") {
		q.Users = append(q.Users, user(rapid.IntRange(0, 40).Draw(rt, "one of many")))
	}
	want, err1 := plain.Ranks(x.tb.Context(), q)
	got, err2 := x.Store.Ranks(x.tb.Context(), q)
	if err1 != nil || err2 != nil || got.Total != want.Total || got.Version != want.Version {
		rt.Fatalf("%v: %+v, %v\nby the shards: %+v, %v", q.Users, got, err2, want, err1)
	}
	for i := range q.Users {
		one, other := got.Users[i], want.Users[i]
		if one != nil && other != nil && one.Precision == rankcore.Exact && other.Precision != rankcore.Exact { // by the index deeper than the head
			if other, err1 = plain.Rank(x.tb.Context(), rankcore.RankQuery{Board: b, Season: season, User: q.Users[i], Precision: rankcore.Exact}); err1 != nil {
				rt.Fatal(err1)
			}
		}
		if (one == nil) != (other == nil) || one != nil && (one.Rank != other.Rank || one.Tied != other.Tied || one.Precision != other.Precision || one.Percentile != other.Percentile) {
			rt.Fatalf("%s: %+v\nby the shards: %+v", q.Users[i], one, other)
		}
	}
}

// TestRowsByTheIndexAreAskedForAlone: with an index, pages, neighbours and batches cost Redis no counts, however deep.
func TestRowsByTheIndexAreAskedForAlone(t *testing.T) {
	server := servers.Redis(t)
	b := board("alone")
	b.Shards = 16
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	w.fill(20_000)
	x.ready(b)
	server.Do("CONFIG", "RESETSTAT")
	far, first := rankcore.Place{Score: 500_000, User: user(7)}, rankcore.UserID("")
	for _, q := range []rankcore.RowsQuery{{Limit: 50}, {Limit: 50, After: far}, {Limit: 50, Within: rankcore.Between(0, 10_000)}, {Limit: 11, Around: user(7)}} {
		q.Board, q.Season = b, "all"
		if page, err := x.Rows(t.Context(), q); err != nil || len(page.Entries) != q.Limit {
			t.Fatalf("%+v: %+v, %v", q, page, err)
		} else if first == "" {
			first = page.Entries[0].User
		}
	}
	batch, err := x.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: []rankcore.UserID{user(7), first}})
	if err != nil || batch.Users[0].Precision != rankcore.Exact || batch.Users[1].Rank != 1 {
		t.Fatalf("%+v, %v", batch, err)
	}
	if n := calls(server, "zcard"); n > 3 { // of the users' own shards, when their scores are read
		t.Errorf("members of %d shards were counted", n)
	}
	alone, err := x.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: user(7)})
	if err != nil || alone.Rank != batch.Users[0].Rank || alone.Precision != rankcore.Exact {
		t.Errorf("alone %+v, %v, in the batch %+v", alone, err, batch.Users[0])
	}
	if n := calls(server, "zcount"); n > 0 {
		t.Errorf("%d ranges were counted", n)
	}
}

// standTogether reports whether all users of a batch stand where it says, with these scores.
func standTogether(b *rankcore.Board, scores map[rankcore.UserID]rankcore.Score, users []rankcore.UserID, batch *rankcore.Standings) bool {
	for i, u := range users {
		st := batch.Users[i]
		if score, ranked := scores[u]; ranked != (st != nil) || ranked && (score != st.Score || truth(b.Order, scores, u, score) != st.Rank || st.Precision != rankcore.Exact) {
			return false
		}
	}
	return true
}

// calls is how often a Redis was given a command.
func calls(r *servers.RedisServer, command string) (n int) {
	stats, _ := r.Do("INFO", "commandstats").(string)
	if m := regexp.MustCompile(`cmdstat_` + command + `:calls=(\d+)`).FindStringSubmatch(stats); m != nil {
		_, _ = fmt.Sscan(m[1], &n)
	}
	return n
}

// TestIndexedAnswersAreTrueOfSomeInstant: while steps go on, an exact rank is one that the user had, and a page or a
// user's neighbours are those that there were, with everybody's scores as they were between the question and the answer.
// Where shards changed so often that they were asked themselves, each page shows each shard at a moment of its own.
func TestIndexedAnswersAreTrueOfSomeInstant(t *testing.T) {
	server := servers.Redis(t)
	b := board("instant")
	b.Shards = 4
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	const users, rounds = 60, 300
	// One shard at a time takes a step, so that a history of states is a history of cuts. since and until are when a
	// state can have been: from before its step was sent to after the next one's answer.
	type state struct {
		scores       map[rankcore.UserID]rankcore.Score
		since, until time.Time
	}
	now := map[rankcore.UserID]rankcore.Score{}
	var mu sync.Mutex
	history := []*state{{scores: map[rankcore.UserID]rankcore.Score{}, since: time.Now()}}
	at := make([]rankcore.Position, b.Shards)
	for i := range at {
		at[i] = w.at
	}
	step := func(rnd *rand.Rand, seq uint64) {
		shard := rnd.IntN(b.Shards)
		to := rankcore.Position{Seq: seq, Time: monday.Add(time.Duration(seq) * time.Millisecond).UnixNano()}
		s := rankcore.Step{Shard: shard, From: at[shard], To: to}
		for range 1 + rnd.IntN(8) {
			u := user(rnd.IntN(users))
			if b.Shard(u) == shard {
				now[u] = rankcore.Score(rnd.IntN(20))
				s.Ops = append(s.Ops, rankcore.PlacedOp{Op: set(u, int64(now[u])), Stored: to.At().UnixMilli(), Seasons: w.calendar.Seasons(to.At(), to.At())})
			}
		}
		copied := map[rankcore.UserID]rankcore.Score{}
		for u, score := range now {
			copied[u] = score
		}
		mu.Lock()
		last := history[len(history)-1]
		history = append(history, &state{scores: copied, since: time.Now()})
		mu.Unlock()
		if r := x.Apply(t.Context(), b, []rankcore.Step{s})[0]; r.State != rankcore.StepApplied {
			t.Errorf("step: %+v", r)
		}
		mu.Lock()
		last.until = time.Now()
		mu.Unlock()
		at[shard] = to
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for seq := range uint64(40) {
		step(rnd, w.at.Seq+1+seq)
	}
	x.ready(b)
	var answers, byIndex, pages, batches int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := range uint64(rounds) {
			step(rnd, w.at.Seq+41+seq)
			x.Follower.Apply(t.Context(), b, nil)
		}
	}()
	asking := rand.New(rand.NewPCG(5, 6))
	for running := true; running || x.index.Ready(b.ID) && (batches == 0 || pages == batches); { // a slow machine asks little meanwhile
		select {
		case <-done:
			running = false
		default:
		}
		u, began := user(asking.IntN(users)), time.Now()
		var st *rankcore.Standing
		var page *rankcore.Page
		var batch *rankcore.Standings
		var err error
		several := []rankcore.UserID{u, user(asking.IntN(users)), user(asking.IntN(users))}
		q, counts := rankcore.RowsQuery{Board: b, Season: "all", Limit: 1 + asking.IntN(12)}, calls(server, "zcount")
		rows := calls(server, "zrange")
		switch asking.IntN(5) {
		case 4:
			batch, err = x.Store.Ranks(t.Context(), rankcore.RanksQuery{Board: b, Season: "all", Users: several})
		case 0:
			q.Around = u
			page, err = x.Store.Rows(t.Context(), q)
		case 1:
			q.After = rankcore.Place{Score: rankcore.Score(asking.IntN(20)), User: u}
			page, err = x.Store.Rows(t.Context(), q)
		default:
			st, err = x.Store.Rank(t.Context(), rankcore.RankQuery{Board: b, Season: "all", User: u, Precision: rankcore.Exact})
		}
		ended := time.Now()
		if errors.Is(err, rankcore.ErrNotRanked) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		answers++
		if page != nil || batch != nil {
			if calls(server, "zcount") != counts || batch != nil && calls(server, "zrange") != rows {
				continue
			}
			pages++
		}
		if batch != nil {
			batches++
		}
		mu.Lock()
		possible, seen := false, 0
		for _, s := range history {
			if s.since.After(ended) || !s.until.IsZero() && s.until.Before(began) {
				continue
			}
			seen++
			switch whole := int64(len(s.scores)); {
			case batch != nil:
				possible = possible || whole == batch.Total && standTogether(b, s.scores, several, batch)
			case page != nil:
				possible = possible || whole == page.Total && slices.Equal(rowsOf(b, s.scores, q), page.Entries)
			default:
				possible = possible || s.scores[u] == st.Score && truth(b.Order, s.scores, u, st.Score) == st.Rank && whole == st.Total
			}
		}
		mu.Unlock()
		if !possible {
			t.Fatalf("%s: %+v, %+v, %+v is none of the %d states there can have been", u, st, page, batch, seen)
		}
		if x.index.Ready(b.ID) {
			byIndex++
		}
	}
	t.Logf("%d answers, %d while the index was ready, %d lists by it, %d of them batches", answers, byIndex, pages, batches)
	if byIndex == 0 || pages == batches || batches == 0 {
		t.Error("the index answered nothing")
	}
}

// rowsOf are the rows that q asks for, where these are all scores.
func rowsOf(b *rankcore.Board, scores map[rankcore.UserID]rankcore.Score, q rankcore.RowsQuery) []rankcore.Entry {
	rows := make([]rankcore.Entry, 0, len(scores))
	for u, score := range scores {
		rows = append(rows, rankcore.Entry{User: u, Score: score})
	}
	slices.SortFunc(rows, b.Order.Compare)
	b.Ties.SetRanks(rows, 0, 0)
	from := 0
	if q.Around != "" {
		at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == q.Around })
		from = max(min(at-q.Limit/2, len(rows)-q.Limit), 0)
	} else {
		place := rankcore.Entry{User: q.After.User, Score: q.After.Score}
		from, _ = slices.BinarySearchFunc(rows, place, b.Order.Compare)
		if from < len(rows) && rows[from] == (rankcore.Entry{Rank: rows[from].Rank, User: place.User, Score: place.Score}) {
			from++
		}
	}
	return rows[from:min(from+q.Limit, len(rows))]
}

// TestIndexWaitsForStepsUnderWay: a step that has happened, and whose answer has not come yet, is in every answer to
// what is asked after it: the index waits for it, and when that takes long the shards are asked.
func TestIndexWaitsForStepsUnderWay(t *testing.T) {
	server := servers.Redis(t)
	b := board("under-way")
	x := openIndexed(t, server.URL, b)
	w := newWriter(t, x.Store, b)
	w.to = x
	w.write(set("abe", 1), set("bob", 2))
	var mates []rankcore.UserID // in the other's shard: bob's own would show the step
	for i := 0; len(mates) < 2; i++ {
		if u := user(i); b.Shard(u) != b.Shard("bob") {
			mates = append(mates, u)
		}
	}
	for i, slow := range []bool{false, true} {
		x.ready(b)
		happened, answer := make(chan struct{}), make(chan struct{})
		x.steps.hold = func() { close(happened); <-answer }
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			w.write(set(mates[i], 10))
		}()
		<-happened
		if !slow {
			close(answer)
		}
		st, err := w.rank("bob", rankcore.Exact)
		if want := int64(2 + i); err != nil || st.Rank != want {
			t.Errorf("with a step under way: %+v, %v, want rank %d", st, err, want)
		}
		if slow {
			close(answer)
		}
		<-wrote
		x.steps.hold = nil
	}
}

// TestIndexIsBuiltWhileStepsGoOn: what is counted shard by shard meanwhile ends as what there is.
func TestIndexIsBuiltWhileStepsGoOn(t *testing.T) {
	server := servers.Redis(t)
	b, plain := board("meanwhile"), open(t, server.URL)
	w := newWriter(t, plain, b)
	const users = 20_000
	w.fill(users) // several parts of each shard
	x := openIndexed(t, server.URL, b)
	w.to = x
	steps := 0
	for ; !x.index.Ready(b.ID); steps++ {
		var ops []rankcore.Op
		for range 50 {
			ops = append(ops, set(user(w.rnd.IntN(users+500)), int64(w.rnd.ExpFloat64()*1e6)))
		}
		w.write(ops...)
		if steps > 20_000 {
			t.Fatalf("not built after %d steps: %+v", steps, x.index.State(b.ID))
		}
	}
	for range 200 {
		q := rankcore.RankQuery{Board: b, Season: "all", User: user(w.rnd.IntN(users)), Precision: rankcore.Exact}
		x.ready(b)
		got, err1 := x.Store.Rank(t.Context(), q)
		want, err2 := plain.Rank(t.Context(), q)
		if err1 != nil || err2 != nil || got.Rank != want.Rank || got.Tied != want.Tied || got.Total != want.Total {
			t.Fatalf("%+v, %v, by the shards %+v, %v", got, err1, want, err2)
		}
	}
	if st := x.index.State(b.ID); steps < 3 || st.Members < users {
		t.Errorf("built within %d steps: %+v", steps, st)
	}
}
