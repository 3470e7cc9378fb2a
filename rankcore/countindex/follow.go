package countindex

import (
	"context"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Steps is the store whose shards an applier feeds.
type Steps interface {
	Positions(ctx context.Context, b *rankcore.Board) []rankcore.StepResult
	Apply(ctx context.Context, b *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult
	Reset(ctx context.Context, b *rankcore.Board, shard int) error
}

// Follower passes an applier's calls on to its store and lets the index take in what they tell.
type Follower struct {
	index *Index
	store Steps
}

// Follow returns store as appliers are to have it, so that the index follows what they do.
func (x *Index) Follow(store Steps) Follower { return Follower{x, store} }

// Positions asks every shard of the board where it is, in order.
func (f Follower) Positions(ctx context.Context, def *rankcore.Board) []rankcore.StepResult {
	b := f.index.boards[def.ID]
	if b == nil {
		return f.store.Positions(ctx, def)
	}
	ticket := b.begin()
	results := f.store.Positions(ctx, def)
	for shard := range results {
		b.heard(shard, &results[shard], false, time.Now())
	}
	b.finish(ticket, time.Now())
	return results
}

// Apply takes at most one step for a shard and answers each, in order.
func (f Follower) Apply(ctx context.Context, def *rankcore.Board, steps []rankcore.Step) []rankcore.StepResult {
	b := f.index.boards[def.ID]
	if b == nil {
		return f.store.Apply(ctx, def, steps)
	}
	asking := slices.Clone(steps)
	for i := range asking {
		asking[i].Moves = true
	}
	ticket := b.begin()
	results := f.store.Apply(ctx, def, asking)
	for i := range results {
		changes := steps[i].From != steps[i].To || len(steps[i].Ops) > 0 || steps[i].Lost
		b.heard(steps[i].Shard, &results[i], changes, time.Now())
	}
	b.finish(ticket, time.Now())
	return results
}

// Reset empties a shard that is not whole. The index notices with the shard's next step.
func (f Follower) Reset(ctx context.Context, def *rankcore.Board, shard int) error {
	return f.store.Reset(ctx, def, shard)
}

// begin notes that a call sets out which may change shards.
func (b *board) begin() (ticket uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets++
	b.underWay = append(b.underWay, b.tickets)
	return b.tickets
}

// finish notes that all answers of a call have been taken in.
func (b *board) finish(ticket uint64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay = slices.DeleteFunc(b.underWay, func(t uint64) bool { return t == ticket })
	oldest := now
	for i := range b.parts {
		if b.parts[i].heard.Before(oldest) {
			oldest = b.parts[i].heard
		}
	}
	b.until = oldest.Add(current)
	b.tell()
}

// heard takes in where a shard says it is and what its last step moved. changes: the call may have changed it.
func (b *board) heard(shard int, r *rankcore.StepResult, changes bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.parts[shard]
	if r.State == rankcore.StepFailed {
		b.setDoubt(p, p.doubt || changes)
		return
	}
	b.setDoubt(p, false)
	p.heard = now
	switch {
	case r.State == rankcore.StepDamaged:
		b.breakUp("a shard is not whole")
	case !p.listed:
		p.at = r.At // nothing of it is counted yet
	case r.At == p.at:
	case r.Moves == nil || r.Moves.From != p.at:
		b.breakUp("a shard is not where the steps have led it")
	default:
		for i := range r.Moves.Seasons {
			b.follow(shard, p, &r.Moves.Seasons[i], r.At)
		}
		p.at = r.At
	}
}

func (b *board) setDoubt(p *part, doubt bool) {
	switch {
	case doubt && !p.doubt:
		b.doubts++
	case !doubt && p.doubt:
		b.doubts--
	}
	p.doubt = doubt
}

// follow takes in what a step did to a season of a shard: what is counted of it follows, and the rest is still to be
// counted where it then is.
func (b *board) follow(shard int, p *part, m *rankcore.SeasonMoves, at rankcore.Position) {
	if m.Retired {
		b.retire(m.Season)
		return
	}
	if b.retired[m.Season] {
		return
	}
	s := b.season(m.Season)
	upTo, partial := p.todo[m.Season]
	whole := true
	for _, move := range m.Moves {
		if move.Old != rankcore.NoKey && (!partial || move.Old <= upTo) {
			whole = s.add(shard, move.Old, -1) && whole
		}
		if move.New != rankcore.NoKey && (!partial || move.New <= upTo) {
			s.add(shard, move.New, 1)
		}
	}
	if !whole {
		b.breakUp("a step took members from where none were counted")
	}
	if b.Ties == rankcore.TiesShared { // else somebody can go behind others at the same key, which is no move
		s.past.add(pastStep{shard: shard, was: s.changed[shard], moves: m.Moves})
	}
	s.changed[shard] = at
	s.version = rankcore.Newer(s.version, at)
	for _, w := range b.watches {
		w.see(shard, m, at)
	}
}

// retire forgets a season: its time is over, and nobody asks for it any more.
func (b *board) retire(id rankcore.SeasonID) {
	b.retired[id] = true
	delete(b.seasons, id)
	for i := range b.parts {
		delete(b.parts[i].todo, id)
	}
}
