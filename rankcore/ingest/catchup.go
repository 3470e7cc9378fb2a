package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"rankgate/rankcore"
)

// maxCatchups bounds how many catch-ups run beside the main lane.
const maxCatchups = 4

// caught is a catch-up that has come back.
type caught struct {
	lane  *lane
	limit rankcore.Position // the main lane's cursor when it went; shards that follow have everything up to it
	err   error
}

// catchUp sends the shards that are not where they should be to be fed beside the main lane, all with one session.
func (a *Applier) catchUp(ctx context.Context) {
	if a.away >= maxCatchups {
		return
	}
	now := time.Now()
	var members []int
	for s := range a.main.shards {
		if sh := &a.main.shards[s]; sh.state == unknown && !now.Before(sh.retry) {
			sh.state = catching
			members = append(members, s)
		}
	}
	if len(members) == 0 {
		return
	}
	a.metrics.catchups.Add(float64(len(members)))
	c := &lane{a: a, shards: slices.Clone(a.main.shards), members: members}
	limit, back := a.main.cursor, a.back
	a.away++
	go func() { back <- caught{lane: c, limit: limit, err: a.catch(ctx, c, limit)} }()
}

// rejoin takes the shards of a catch-up back. What the main lane read meanwhile is fed to them here, while
// nothing else is read, if it is little; if not, they go once more.
func (a *Applier) rejoin(ctx context.Context, done caught) error {
	c := done.lane
	cursor := a.main.cursor
	err := done.err
	if err == nil && done.limit != cursor && c.any(following) && cursor.Seq-done.limit.Seq <= nearMessages {
		c.cursor = done.limit
		err = a.bring(ctx, c, cursor)
	} else if done.limit != cursor {
		c.strand(following)
	}
	for _, s := range c.members {
		a.main.shards[s] = c.shards[s]
	}
	if errors.Is(err, errBranch) {
		return err
	}
	a.catchUp(ctx)
	a.tell()
	return nil
}

// catch feeds the lane's shards from their own positions up to limit. Afterwards each is following (it has
// everything up to limit), ahead of it, to be rebuilt, or unknown, to be tried again. It fails with errBranch
// only, when limit is not in the log the shards are in.
func (a *Applier) catch(ctx context.Context, c *lane, limit rankcore.Position) error {
	a.locate(ctx, c)
	ss, gone, err := a.anchor(ctx, c, limit)
	if err != nil {
		a.log.Debug("catch-up put off", "err", err)
		c.strand(following, ahead, catching)
		for _, s := range c.members {
			if sh := &c.shards[s]; sh.state == unknown {
				sh.failed(time.Now())
			}
		}
		return nil
	}
	if len(gone) > 0 {
		if err := a.rebase(ctx, c, gone); err != nil {
			a.log.Warn("a position is missing in the log and not mended yet", "shards", len(gone), "err", err)
			for _, s := range gone {
				c.shards[s].failed(time.Now())
			}
		}
	}
	if ss == nil {
		return nil
	}
	return a.pour(ctx, c, ss, limit)
}

// bring feeds the lane from its cursor up to limit.
func (a *Applier) bring(ctx context.Context, c *lane, limit rankcore.Position) error {
	ss, what, err := a.stream.prove(ctx, a.board, c.cursor)
	if err != nil || what != found {
		c.strand(following)
		return nil
	}
	return a.pour(ctx, c, ss, limit)
}

// pour feeds the lane from a session that stands behind its cursor through the message named limit. Shards
// whose own position did not turn up on the way are left unknown.
func (a *Applier) pour(ctx context.Context, c *lane, ss *session, limit rankcore.Position) error {
	a.metrics.sessions.Inc()
	f := a.startFeed(ctx, ss, c.cursor, limit)
	defer f.stop()
	for {
		var item fed
		select {
		case item = <-f.out:
		case <-ctx.Done():
			item.err = ctx.Err()
		}
		if item.err == nil && item.run == nil && item.end && !item.limit {
			item.err = errSession // it ends before the cursor: an old view, or another log
		}
		if item.err == nil && item.run != nil {
			item.err = a.put(ctx, c, item.run)
			f.applied(0)
		}
		switch {
		case item.err != nil:
			c.strand(following, ahead)
			if errors.Is(item.err, errBranch) {
				return item.err
			}
			a.log.Debug("catch-up interrupted", "err", item.err)
			return nil
		case item.limit:
			c.strandBelow(limit)
			return nil
		}
	}
}

// locate asks the lane's shards where they are. A shard that is not whole is emptied if the log can feed it
// from its first message, and else kept as it is.
func (a *Applier) locate(ctx context.Context, c *lane) {
	broken := a.audit(ctx, c, c.members)
	if len(broken) == 0 {
		return
	}
	v, err := a.stream.look(ctx)
	for _, s := range broken {
		sh := &c.shards[s]
		switch {
		case err != nil:
			sh.failed(time.Now())
		case v.first > v.startOf(a.board.ID):
			a.needRebuild(s, sh, true)
		default:
			if err := a.store.Reset(ctx, a.board, s); err != nil {
				a.log.Warn("damaged shard could not be reset", "shard", s, "err", err)
				sh.failed(time.Now())
				continue
			}
			a.log.Warn("damaged shard is fed anew from the log's first message", "shard", s)
			if again := a.audit(ctx, c, []int{s}); len(again) > 0 {
				sh.failed(time.Now())
			}
		}
	}
}

// audit asks shards for their positions and returns those that are not whole.
func (a *Applier) audit(ctx context.Context, c *lane, members []int) (broken []int) {
	steps := make([]rankcore.Step, len(members))
	for i, s := range members {
		steps[i] = rankcore.Step{Shard: s, From: c.shards[s].pos, To: c.shards[s].pos}
	}
	for i, res := range a.apply(ctx, steps) {
		sh := &c.shards[members[i]]
		switch res.State {
		case rankcore.StepApplied, rankcore.StepAt:
			sh.answered(res)
			sh.state, sh.lost = catching, false
		case rankcore.StepDamaged:
			broken = append(broken, members[i])
		default:
			sh.failed(time.Now())
		}
	}
	return broken
}

// anchor opens a session at the lowest of the lane's positions that the log proves to have, and sorts the
// shards by it. gone are the shards whose position the log does not have; ss is nil when nobody needs feeding.
// Positions between the session and limit prove themselves when they turn up in it; those above need a proof
// here, since nothing may ever turn up above the log's end.
func (a *Applier) anchor(ctx context.Context, c *lane, limit rankcore.Position) (ss *session, gone []int, err error) {
	for _, group := range c.byPosition() {
		p := c.shards[group[0]].pos
		if p == limit {
			c.set(group, following)
			continue
		}
		if ss != nil && p.Seq <= limit.Seq {
			c.set(group, ahead)
			continue
		}
		at, what, err := a.stream.prove(ctx, a.board, p)
		switch {
		case err != nil:
			ss.close()
			return nil, gone, err
		case what == trimmed:
			for _, s := range group {
				a.needRebuild(s, &c.shards[s], false)
			}
		case what == missing:
			gone = append(gone, group...)
		case p.Seq > limit.Seq:
			at.close()
			c.set(group, ahead)
		default:
			c.set(group, following)
			ss, c.cursor = at, p
		}
	}
	return ss, gone, nil
}

// needRebuild leaves a shard standing: feeding it what the log still has would skip what it no longer has.
func (a *Applier) needRebuild(number int, sh *shard, damaged bool) {
	sh.state, sh.damaged = rebuild, damaged
	a.metrics.rebuilds.Inc()
	a.log.Error("rebuild needed: the log no longer reaches back to what this shard needs",
		"shard", number, "position", sh.pos.String(), "damaged", damaged)
}

// byPosition are the members that said where they are, lowest first, together where they stand together.
func (l *lane) byPosition() [][]int {
	var located []int
	for _, s := range l.members {
		if l.shards[s].state == catching {
			located = append(located, s)
		}
	}
	slices.SortFunc(located, func(x, y int) int {
		p, q := l.shards[x].pos, l.shards[y].pos
		return cmp.Or(cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.Time, q.Time), cmp.Compare(x, y))
	})
	var groups [][]int
	for i, s := range located {
		if i == 0 || l.shards[s].pos != l.shards[located[i-1]].pos {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], s)
	}
	return groups
}

func (l *lane) set(members []int, st state) {
	for _, s := range members {
		l.shards[s].state = st
	}
}

func (l *lane) any(st state) bool {
	return slices.ContainsFunc(l.members, func(s int) bool { return l.shards[s].state == st })
}

// strand makes members in these states unknown, to be caught up again.
func (l *lane) strand(states ...state) {
	for _, s := range l.members {
		if slices.Contains(states, l.shards[s].state) {
			l.shards[s].astray()
		}
	}
}

// strandBelow makes members unknown whose position should have turned up before limit and did not.
func (l *lane) strandBelow(limit rankcore.Position) {
	for _, s := range l.members {
		if sh := &l.shards[s]; sh.state == ahead && sh.pos.Seq <= limit.Seq {
			sh.astray()
		}
	}
}
