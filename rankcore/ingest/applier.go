package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// Shards is the store the applier feeds. Each call bounds its own time; a shard that does not answer is one
// failed result, and the others go on.
type Shards interface {
	// Positions asks every shard of the board where it is, in order.
	Positions(ctx context.Context, b *rankcore.Board) []rankcore.StepResult
	// Apply takes at most one step for a shard and answers each, in order.
	Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult
	// Reset empties a shard that is not whole; it looks for itself.
	Reset(ctx context.Context, b *rankcore.Board, shard int) error
}

// Announcer tells the edges what changed. No call may block; a lost one costs freshness, never correctness.
type Announcer interface {
	Announce(c rankcore.Change)
	Progress(p rankcore.Progress)
	// Withdraw ends what Progress told of the board: another process tells of it from here on.
	Withdraw(id rankcore.BoardID)
}

// ApplierConfig describes the applier of one board.
type ApplierConfig struct {
	Log        *Log // must have the board, and run
	Board      *rankcore.Board
	Shards     Shards
	Announcer  Announcer
	Leases     *Leases      // nil: this process alone applies to these shards
	Logger     *slog.Logger // nil: silent
	Registerer prometheus.Registerer
}

// Applier folds one board's log into its shards, as far as they are. Several may run at once, also in other
// processes: each change of a shard fits exactly or changes nothing.
type Applier struct {
	board    *rankcore.Board
	owner    *Log
	stream   stream
	store    Shards
	announce Announcer
	lease    *lease
	log      *slog.Logger
	metrics  applierMetrics
	status   atomic.Pointer[ApplierStatus]

	complained atomic.Int64 // when it was last said why shards fail, in Unix nanoseconds

	// What follows belongs to the goroutine of Run.
	main     lane
	feed     *feed
	ended    bool      // the main lane has read everything there was
	caughtUp time.Time // when that was last known
	greeted  bool      // since the start every shard has been moved to the cursor once
	round    int       // of the heartbeat
	back     chan caught
	away     int // catch-ups under way
}

// NewApplier returns the applier of a board. Run starts it.
func NewApplier(cfg ApplierConfig) *Applier {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Applier{
		board: cfg.Board, owner: cfg.Log, stream: cfg.Log.stream, store: cfg.Shards, announce: cfg.Announcer,
		log:     cfg.Logger.With("board", string(cfg.Board.ID)),
		metrics: newApplierMetrics(cfg.Registerer, cfg.Board.ID),
	}
	a.main = lane{a: a, shards: make([]shard, cfg.Board.Shards), members: make([]int, cfg.Board.Shards)}
	for s := range a.main.members {
		a.main.members[s] = s
	}
	if cfg.Leases != nil {
		a.lease = cfg.Leases.boards[cfg.Board.ID]
	}
	a.status.Store(&ApplierStatus{Shards: map[string]int{unknown.String(): cfg.Board.Shards}})
	return a
}

// beatEvery is the pace of the heartbeat. A round of beats touches every shard once a second.
const (
	beatEvery = 125 * time.Millisecond
	beats     = 8
)

// startPause stands between two starts, so that a log or store that fails at once is not asked in a loop.
const startPause = 200 * time.Millisecond

// Run applies until ctx ends, then leaves nothing behind and returns nil. Every failure is waited out. With a lease
// it stands by while another process holds it: then it reads no log and asks no shard.
func (a *Applier) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.owner.Ready():
	}
	a.standBy()
	for {
		held, end, ok := a.lease.term(ctx)
		if !ok {
			return nil
		}
		a.metrics.leader.Set(1)
		a.lead(held)
		a.metrics.leader.Set(0)
		a.standBy()
		end()
	}
}

// lead applies until ctx ends.
func (a *Applier) lead(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		a.log.Warn("applier starts anew", "because", err)
		a.metrics.starts.Inc()
		a.ended = false
		a.tell()
		select {
		case <-ctx.Done():
		case <-time.After(startPause + rand.N(startPause)):
		}
	}
}

// follow starts from the shards' positions and goes on until what it stands on turns out not to hold.
func (a *Applier) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.back, a.away = make(chan caught), 0
	defer func() {
		cancel()
		a.feed.stop()
		a.feed = nil
		for ; a.away > 0; a.away-- {
			<-a.back
		}
	}()
	if err := a.begin(ctx); err != nil {
		return err
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		var err error
		var items <-chan fed
		if a.feed != nil {
			items = a.feed.out
		}
		select {
		case <-ctx.Done():
			return nil
		case item := <-items:
			err = a.handle(ctx, item)
		case done := <-a.back:
			a.away--
			err = a.rejoin(ctx, done)
		case <-beat.C:
			err = a.beat(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// begin reads every position and chooses the cursor: the lowest that the log proves to have among those that
// are near the highest. Shards far behind are caught up beside, so that the others do not wait for them.
func (a *Applier) begin(ctx context.Context) error {
	newest, err := a.stream.newest(ctx, a.board.ID)
	if err == nil && newest.IsNone() {
		newest.Position, err = a.stream.mark(ctx, a.board, rankcore.Message{Mark: rankcore.MarkTick})
	}
	if err != nil {
		return err
	}
	candidates := a.ask(ctx)
	for _, p := range candidates {
		if p.Seq+nearMessages < candidates[len(candidates)-1].Seq {
			continue
		}
		ss, what, err := a.stream.prove(ctx, a.board, p)
		if err != nil {
			return err
		}
		if what == found {
			a.stand(ctx, p, ss)
			return nil
		}
	}
	ss, what, err := a.stream.prove(ctx, a.board, newest.Position)
	if err == nil && what != found {
		err = errBranch
	}
	if err != nil {
		return err
	}
	a.stand(ctx, newest.Position, ss)
	return nil
}

// nearMessages is how far behind the cursor a shard is fed at once; one further behind is fed beside.
const nearMessages = 2000

// ask reads every shard's position and returns the different ones, ascending.
func (a *Applier) ask(ctx context.Context) []rankcore.Position {
	var all []rankcore.Position
	positions := a.store.Positions(ctx, a.board)
	a.complain(positions)
	for s, res := range positions {
		sh := &a.main.shards[s]
		*sh = shard{delay: sh.delay}
		switch res.State {
		case rankcore.StepAt, rankcore.StepApplied:
			sh.answered(res)
			sh.state = ahead
			all = append(all, sh.pos)
		case rankcore.StepDamaged: // unknown: a catch-up sees to it
		case rankcore.StepFailed:
			sh.failed(time.Now())
		}
	}
	slices.SortFunc(all, func(p, q rankcore.Position) int {
		return cmp.Or(cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.Time, q.Time))
	})
	return slices.Compact(all)
}

// stand makes p, where the session stands, the cursor.
func (a *Applier) stand(ctx context.Context, p rankcore.Position, ss *session) {
	a.metrics.sessions.Inc()
	a.main.cursor = p
	for s := range a.main.shards {
		sh := &a.main.shards[s]
		switch {
		case sh.state != ahead:
		case sh.pos == p:
			sh.state = following
		case sh.pos.Seq <= p.Seq:
			sh.astray()
		}
	}
	a.ended, a.greeted = false, false
	a.caughtUp = time.Time{} // what was known was of another cursor, which may have been further
	a.feed = a.startFeed(ctx, ss, p, rankcore.Position{})
	a.log.Info("applier follows", "from", p.String(), "shards", a.inState(following))
	a.catchUp(ctx)
	a.tell()
}

// handle takes in what the feed gave.
func (a *Applier) handle(ctx context.Context, item fed) error {
	if item.err != nil {
		return a.drop(item.err)
	}
	if r := item.run; r != nil {
		if a.stream.reconnects() != a.feed.links {
			return a.drop(errSession)
		}
		began := time.Now()
		if err := a.put(ctx, &a.main, r); err != nil {
			return a.drop(err)
		}
		a.feed.applied(a.rest(r, time.Since(began)))
		a.catchUp(ctx)
	}
	a.metrics.lag.Set(float64(item.lag))
	a.ended = item.end
	if !item.asOf.IsZero() {
		a.caughtUp = item.asOf
	}
	if item.end && !a.greeted { // shards without operations in what was read need not wait a second to be current
		a.greeted = true
		a.beatShards(ctx, a.main.members)
	}
	a.tell()
	return nil
}

// Bounds of the pause between small runs.
const (
	leastShare = 1. / 3 // of the time that the run took
	maxRest    = 100 * time.Millisecond
)

// rest is the time from one run to the next, when applying r took so long. A step costs the store nearly the same whether it
// holds one operation or a few, so many small runs would keep it busy with little: resting makes runs larger. While
// each shard has hardly more than one operation that saves little, and every write shows later by it, so the rest is
// short and only leaves readers a part of the store's time. The more operations a step has, the more a longer rest
// saves, up to as long as the work. It costs a tenth of the freshness bound at most, and nothing where messages are
// few, and where a whole run has arrived already.
func (a *Applier) rest(r *run, took time.Duration) time.Duration {
	share := min(max(r.opsPerShard()-1, leastShare), 1)
	return min(took+time.Duration(share*float64(took)), maxRest, a.board.Freshness/10)
}

// put buries a run's dead letters, applies it to a lane and announces what changed.
func (a *Applier) put(ctx context.Context, l *lane, r *run) error {
	if len(r.dead) > 0 {
		if err := a.owner.bury(ctx, a.board.ID, r.dead); err != nil {
			return err
		}
		a.metrics.dead.Add(float64(len(r.dead)))
	}
	change := l.take(ctx, r)
	a.metrics.batches.Inc()
	if l == &a.main && a.inState(following) < len(a.main.shards) {
		// That a shard did not take the run in is told before the change, which says that the run was passed: who
		// waits for that would read the shard, and call what it lacks included.
		a.tell()
	}
	a.announceChange(change)
	return nil
}

func (a *Applier) announceChange(c rankcore.Change) {
	if len(c.Users) > 0 || c.All {
		a.announce.Announce(c)
	}
}

// drop ends the session and with it everything read and not applied. The next beat opens another one behind
// the cursor; where the cursor itself is in doubt, the applier starts anew.
func (a *Applier) drop(because error) error {
	a.feed.stop()
	a.feed, a.ended = nil, false
	if errors.Is(because, errTrimmed) || errors.Is(because, errBranch) || a.main.cursor.IsNone() {
		return because
	}
	a.log.Info("log session ended", "because", because)
	return nil
}

// resume opens a session behind the cursor, once the log shows that it still has the cursor. While the log
// does not answer, the next beat tries again.
func (a *Applier) resume(ctx context.Context) error {
	ss, what, err := a.stream.prove(ctx, a.board, a.main.cursor)
	switch {
	case err != nil:
		a.log.Debug("log does not answer", "err", err)
		return nil
	case what != found:
		return errBranch
	}
	a.metrics.sessions.Inc()
	a.feed = a.startFeed(ctx, ss, a.main.cursor, rankcore.Position{})
	return nil
}

// apply sends steps to the store.
func (a *Applier) apply(ctx context.Context, steps []rankcore.Step) []rankcore.StepResult {
	began := time.Now()
	results := a.store.Apply(ctx, a.board, steps)
	a.metrics.stepSeconds.Observe(time.Since(began).Seconds())
	a.complain(results)
	return results
}

// complainEvery is how often an operator is told why shards fail. They may fail for ever, for instance when the
// configuration has another number of shards than the board was created with.
const complainEvery = 10 * time.Second

// complain says why the first of the shards that failed did. Lanes call it too.
func (a *Applier) complain(results []rankcore.StepResult) {
	i := slices.IndexFunc(results, failed)
	if i < 0 {
		return
	}
	now, last := time.Now().UnixNano(), a.complained.Load()
	if now-last >= int64(complainEvery) && a.complained.CompareAndSwap(last, now) {
		a.log.Warn("shards do not answer or take no steps; tried again until they do", "err", results[i].Err)
	}
}

func (a *Applier) count(outcomes []rankcore.Outcome) {
	var n [rankcore.Conflict + 1]int
	for _, o := range outcomes {
		if int(o) < len(n) {
			n[o]++
		}
	}
	for o, n := range n {
		if n > 0 {
			a.metrics.ops[o].Add(float64(n))
		}
	}
}
