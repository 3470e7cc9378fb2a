package countindex

import "rankgate/rankcore"

// mostPast is how many of a season's last moves are kept: some tenths of a second of a very busy board.
const mostPast = 4096

// past is what the last steps moved in a season, the newest last. By it somebody who has read a shard a moment ago is told
// whether what was read has changed since, where all that the shard itself could say is that anything has.
type past struct {
	steps []pastStep
	moves int // of all steps
}

type pastStep struct {
	shard int
	was   rankcore.Position // the message that had last changed the season there before the step
	moves []rankcore.Move
}

// add notes a step and forgets the oldest ones.
func (p *past) add(s pastStep) {
	p.steps, p.moves = append(p.steps, s), p.moves+len(s.moves)
	for p.moves > mostPast {
		p.moves -= len(p.steps[0].moves)
		p.steps[0].moves = nil
		p.steps = p.steps[1:]
	}
}

// still makes changed, which is by shard, what was seen, of shards in which nothing has moved since to or from a key that
// matters. Of shards that were so too long ago, or never, it stays what it is.
func (p *past) still(changed []rankcore.Position, seen []rankcore.Seen, matters func(key int64) bool) {
	sought := make(map[int]rankcore.Position)
	for _, s := range seen {
		if s.Shard < len(changed) && changed[s.Shard] != s.Changed {
			sought[s.Shard] = s.Changed
		}
	}
	for i := len(p.steps) - 1; i >= 0 && len(sought) > 0; i-- {
		step := &p.steps[i]
		was, ok := sought[step.shard]
		switch {
		case !ok:
			continue
		case step.touches(matters):
			delete(sought, step.shard)
		case step.was == was:
			changed[step.shard] = was
			delete(sought, step.shard)
		}
	}
}

func (s *pastStep) touches(matters func(key int64) bool) bool {
	for _, m := range s.moves {
		if m.Old != rankcore.NoKey && matters(m.Old) || m.New != rankcore.NoKey && matters(m.New) {
			return true
		}
	}
	return false
}
