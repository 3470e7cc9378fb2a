package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"rankgate/rankcore"
)

// errNotProven: a loss is suspected and not proven. It is tried again later.
var errNotProven = errors.New("a position is missing, and the log could not prove that it is lost")

// rebase is for shards whose position the log does not have: its tail was lost, or it was made anew. It proves
// that, records it, and feeds each shard what was stored after its position, by time; what the shard has
// taken in stays. One probe and one record serve all the shards.
func (a *Applier) rebase(ctx context.Context, c *lane, gone []int) error {
	probe, err := a.stream.mark(ctx, a.board, rankcore.Message{Mark: rankcore.MarkProbe, Nonce: rand.Text()})
	if err != nil {
		return err
	}
	m := &mending{a: a, until: probe}
	lowest := int64(0)
	for _, s := range gone {
		q := c.shards[s].pos
		if probe.Time < q.Time-int64(rankcore.IDSlack) {
			a.log.Error("log clock behind: it is more than the allowed minute behind what it gave before; nothing is mended",
				"position", q.String(), "now", probe.String())
			return errNotProven
		}
		if lowest == 0 || q.Time < lowest {
			lowest = q.Time
		}
		m.wounds = append(m.wounds, &wound{shard: s, at: q})
	}
	ss, err := a.stream.open(ctx, a.board.ID, from{time: time.Unix(0, lowest).Add(-2 * rankcore.IDSlack)})
	if err != nil {
		return err
	}
	defer ss.close()
	m.rd = newReader(a.board, ss.opened.created)
	if err := m.read(ctx, ss); err != nil {
		return err
	}
	v, err := ss.alive(ctx)
	if err != nil {
		return err
	}
	m.spare(c, func(w *wound) bool { return w.seen || v.first > w.at.Seq })
	if len(m.wounds) == 0 {
		return nil
	}
	if m.until, err = a.stream.mark(ctx, a.board, rankcore.Message{Mark: rankcore.MarkLost, Gone: m.wounds[0].at}); err != nil {
		return err
	}
	if err := m.read(ctx, ss); err != nil {
		return err
	}
	m.apply(ctx, c)
	return nil
}

// mending is one rebase under way.
type mending struct {
	a      *Applier
	rd     *reader
	wounds []*wound
	until  rankcore.Position // the mark of our own that is read through: a server with an old view does not have it
}

// wound is one shard whose position is missing, and what it is to get.
type wound struct {
	shard int
	at    rankcore.Position
	seen  bool // the position turned up: a false alarm
	ops   []rankcore.PlacedOp
	to    rankcore.Position // where its step ends; none: at the record

	newest int64             // the latest time of the messages so far
	early  rankcore.Position // where the step may end already, if it is long; none: nowhere
	before int               // operations of the step then
}

// read takes what the session has, through the mark. That there is nothing more is said of a request that may have been
// sent before the mark was stored, and is believed of the next one only.
func (m *mending) read(ctx context.Context, ss *session) error {
	idle := false
	for {
		var entries []entry
		reached := false
		for size := 0; size < maxRunBytes && !reached; {
			e, err := ss.one(ctx)
			if err != nil {
				return err
			}
			if e == nil && !idle {
				idle = true
				continue
			}
			if e == nil || e.Seq > m.until.Seq {
				return errNotProven
			}
			idle = false
			reached = e.Position == m.until
			entries = append(entries, *e)
			size += len(e.data)
		}
		r := m.rd.understand(rankcore.Position{}, entries)
		if err := m.a.owner.bury(ctx, m.a.board.ID, r.dead); err != nil {
			return err
		}
		for _, w := range m.wounds {
			w.collect(r)
		}
		if reached {
			return nil
		}
	}
}

// collect adds what the shard is to get of a run: of messages stored after its position everything, and of
// those up to a slack before it, where the log's clock may have stepped back, the operations with an id,
// which the shard's memory tells from those it has. It ends at a message that is later than any of that.
func (w *wound) collect(r *run) {
	w.seen = w.seen || r.find(w.at) >= 0
	ops, message := r.of(w.shard, -1)
	for i, name := range r.names {
		if !w.to.IsNone() {
			return
		}
		for len(message) > 0 && int(message[0]) == i {
			if name.Time > w.at.Time || name.Time >= w.at.Time-int64(rankcore.IDSlack) && ops[0].ID != "" {
				w.ops = append(w.ops, ops[0])
			}
			if name.Time <= w.at.Time && ops[0].ID == "" {
				w.early = rankcore.Position{}
			}
			ops, message = ops[1:], message[1:]
		}
		w.newest = max(w.newest, name.Time)
		if w.early.IsNone() && name.Time == w.newest && name.Time >= w.at.Time-int64(rankcore.IDSlack) {
			w.early, w.before = name, len(w.ops)
		}
		if name.Time > w.at.Time+int64(rankcore.IDSlack) {
			w.to = name
		}
	}
}

// step takes the shard from its missing position into the log that is. At a high rate that is two minutes of
// operations, more than one step may carry, and it cannot end just anywhere: what follows it is fed as usual,
// where an operation without an id that the shard has would count again. It may end early behind the last of those,
// at a message that is the latest so far, so that after another loss nothing before it looks newer.
func (w *wound) step(record rankcore.Position) rankcore.Step {
	if w.to.IsNone() {
		w.to = record
	}
	if len(w.ops) > maxStepOps && !w.early.IsNone() {
		w.to, w.ops = w.early, w.ops[:w.before]
	}
	return rankcore.Step{Shard: w.shard, From: w.at, To: w.to, Ops: w.ops, Lost: true}
}

// spare drops the shards that turn out not to have lost their position; they are looked at again.
func (m *mending) spare(c *lane, sound func(*wound) bool) {
	hurt := m.wounds[:0]
	for _, w := range m.wounds {
		if sound(w) {
			c.shards[w.shard].astray()
		} else {
			hurt = append(hurt, w)
		}
	}
	m.wounds = hurt
}

// apply takes each shard from its missing position into the log that is. It is then caught up as usual.
func (m *mending) apply(ctx context.Context, c *lane) {
	m.a.log.Error("the log lost messages that shards had taken in: acknowledged operations may be gone",
		"shards", len(m.wounds), "position", m.wounds[0].at.String())
	steps := make([]rankcore.Step, len(m.wounds))
	change := rankcore.Change{Board: m.a.board.ID, To: m.until, All: true}
	for i, w := range m.wounds {
		steps[i] = w.step(m.until)
	}
	for i, res := range m.a.apply(ctx, steps) {
		sh := &c.shards[steps[i].Shard]
		switch res.State {
		case rankcore.StepApplied, rankcore.StepAt:
			m.a.count(res.Outcomes)
			m.a.metrics.lost.Inc()
			sh.answered(res)
			sh.astray()
		case rankcore.StepDamaged:
			sh.astray()
		default:
			sh.failed(time.Now())
		}
	}
	m.a.announce.Announce(change)
}
