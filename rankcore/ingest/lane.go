package ingest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

// maxStepOps is about how many operations one step carries. A message is never split, so a step may have more.
const maxStepOps = 500

// lane feeds some of a board's shards along one session: the applier's main one, or a catch-up's. Two lanes
// of a board never hold the same shard, and if they did, the shard's compare-and-set would keep it right.
type lane struct {
	a       *Applier
	shards  []shard // of the whole board, by number
	members []int   // those this lane feeds
	cursor  rankcore.Position
}

// task is what a shard still has to get of a run.
type task struct {
	shard   int
	ops     []rankcore.PlacedOp
	message []int32
	next    int // ops of this that the step out now carries
	to      rankcore.Position
	least   int32 // operations of the smallest message that has some of these
}

// The steps of a small run go out in parts, and what changed is told when a part has been taken: the later steps take as
// long as the earlier ones, and readers wait for each. While the store takes one part, the next is made ready and the
// last taken in. A store does one step after another, so more parts at once, or larger ones, would only have readers
// wait longer between them. The parts of a large run would only cost time on the way to many nodes.
const (
	partSteps   = 16
	partsAtOnce = 2
	smallRun    = 4000 // operations
)

// take applies a run to the lane's shards and moves the cursor to its end. It tells what changed part by part, and
// returns what the last one did: only that says that the run was passed.
func (l *lane) take(ctx context.Context, r *run) rankcore.Change {
	var tasks []*task
	for _, s := range l.members {
		after, ok := l.meets(&l.shards[s], r)
		if !ok {
			continue
		}
		sh := &l.shards[s]
		sh.lost = sh.lost || r.lostAfter(after)
		// A board has no answers until each of its shards has a position, and the heartbeat takes a second to reach them all.
		if ops, message := r.of(s, after); len(ops) > 0 || sh.pos.IsNone() {
			tasks = append(tasks, &task{shard: s, ops: ops, message: message})
		}
	}
	smallFirst(tasks, r.sizes())
	most := partSteps
	if len(r.ops) > smallRun {
		most = len(l.members)
	}
	change := rankcore.Change{Board: l.a.board.ID}
	var out []*part // the one sent first ahead
	for len(tasks)+len(out) > 0 {
		for len(tasks) > 0 && len(out) < partsAtOnce {
			n := min(len(tasks), most)
			out = append(out, l.send(ctx, r, tasks[:n:n]))
			tasks = tasks[n:]
		}
		p := out[0]
		tasks = append(tasks, l.settleAll(r, p, &change)...)
		if slices.ContainsFunc(p.results, failed) {
			most = len(l.members) // a node that is silent is waited for again with each part
		}
		if out = out[1:]; len(tasks)+len(out) > 0 {
			change.To = r.from
			l.a.announceChange(change)
			change = rankcore.Change{Board: l.a.board.ID}
		}
	}
	l.cursor, change.To = r.to, r.to
	return change
}

// smallFirst puts shards first for which small messages are, or none: who wrote one score looks for it, and a large
// message is in only when its last shard is. Shards may take a run in in any order.
func smallFirst(tasks []*task, sizes []int32) {
	for _, t := range tasks {
		for i, m := range t.message {
			if i == 0 || sizes[m] < t.least {
				t.least = sizes[m]
			}
		}
	}
	slices.SortStableFunc(tasks, func(t, u *task) int { return cmp.Compare(t.least, u.least) })
}

// meets says behind which message of the run the shard needs what follows: -1 is all of it, not ok nothing.
// A shard that is ahead joins only where the run shows its very position.
func (l *lane) meets(sh *shard, r *run) (after int, ok bool) {
	if sh.state == following {
		return -1, true
	}
	if sh.state != ahead {
		return 0, false
	}
	i := r.reach(sh.pos.Seq)
	if i == len(r.names) {
		return 0, false
	}
	if r.names[i] != sh.pos {
		sh.astray()
		return 0, false
	}
	sh.state = following
	return i, true
}

// part is a call under way, and its answers once done is closed.
type part struct {
	tasks   []*task
	steps   []rankcore.Step
	results []rankcore.StepResult
	done    chan struct{}
}

// send sends one step to each shard that has a task, in one call.
func (l *lane) send(ctx context.Context, r *run, tasks []*task) *part {
	p := &part{tasks: tasks, steps: make([]rankcore.Step, len(tasks)), done: make(chan struct{})}
	for i, t := range tasks {
		p.steps[i] = l.cut(r, t)
	}
	go func() {
		defer close(p.done)
		p.results = l.a.apply(ctx, p.steps)
	}()
	return p
}

func failed(r rankcore.StepResult) bool { return r.State == rankcore.StepFailed }

// settleAll waits for a part's answers, takes them in and returns the tasks that remain.
func (l *lane) settleAll(r *run, p *part, change *rankcore.Change) (rest []*task) {
	<-p.done
	for i, t := range p.tasks {
		if !l.settle(r, t, &p.steps[i], &p.results[i], change) {
			rest = append(rest, t)
		}
	}
	return rest
}

// cut makes the shard's next step: at most about maxStepOps operations, whole messages only.
func (l *lane) cut(r *run, t *task) rankcore.Step {
	sh := &l.shards[t.shard]
	t.next, t.to = len(t.ops), r.to
	if len(t.ops) > maxStepOps {
		n := maxStepOps
		for n < len(t.ops) && t.message[n] == t.message[n-1] {
			n++
		}
		if n < len(t.ops) {
			t.next, t.to = n, r.names[t.message[n-1]]
		}
	}
	return rankcore.Step{Shard: t.shard, From: sh.pos, To: t.to, Ops: t.ops[:t.next], Lost: sh.lost}
}

// settle takes a step's answer in and reports whether the shard's task is over.
func (l *lane) settle(r *run, t *task, step *rankcore.Step, res *rankcore.StepResult, change *rankcore.Change) (over bool) {
	sh := &l.shards[t.shard]
	switch res.State {
	case rankcore.StepApplied:
		l.a.count(res.Outcomes)
		note(change, step.Ops, res.Outcomes)
	case rankcore.StepAt:
		if res.At != step.To {
			return l.elsewhere(r, t, res)
		}
		note(change, step.Ops, nil) // somebody else, or an earlier try of this call, did it
	case rankcore.StepDamaged:
		sh.astray()
		return true
	default:
		sh.failed(time.Now())
		return true
	}
	reach(change, step)
	sh.answered(*res)
	sh.lost, sh.delay = false, 0
	t.ops, t.message = t.ops[t.next:], t.message[t.next:]
	return len(t.ops) == 0
}

// elsewhere is for a shard that is neither where the step began nor where it ends.
func (l *lane) elsewhere(r *run, t *task, res *rankcore.StepResult) (over bool) {
	sh := &l.shards[t.shard]
	sh.answered(*res)
	if i := r.find(res.At); i >= 0 {
		sh.lost = r.lostAfter(i)
		t.ops, t.message = r.of(t.shard, i)
		return len(t.ops) == 0
	}
	if res.At.Seq > r.to.Seq {
		sh.state, sh.lost = ahead, false
		return true
	}
	sh.astray()
	return true
}

// reach notes that the step's shard is at its end. A run ends in one place, and few shards need several steps for it.
func reach(change *rankcore.Change, step *rankcore.Step) {
	for i := range change.Reached {
		if r := &change.Reached[i]; r.At == step.To {
			r.Shards = append(r.Shards, step.Shard)
			return
		}
	}
	change.Reached = append(change.Reached, rankcore.Reached{At: step.To, Shards: []int{step.Shard}})
}

// worthNaming is how many users a change names before it says all.
const worthNaming = 1000

// note adds the users whose operations had an effect; without outcomes, all of them may have.
func note(change *rankcore.Change, ops []rankcore.PlacedOp, outcomes []rankcore.Outcome) {
	for i := range ops {
		if change.All {
			return
		}
		if outcomes != nil && outcomes[i] != rankcore.Applied {
			continue
		}
		if n := len(change.Users); n > 0 && change.Users[n-1] == ops[i].User {
			continue
		}
		if len(change.Users) == worthNaming {
			change.All, change.Users = true, nil
			return
		}
		change.Users = append(change.Users, ops[i].User)
	}
}
