package loadtest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"rankgate/rankcore"
)

// Doubt is about the operations acknowledged by a log that was then set back: shards that had taken some of
// them in keep these, the others are gone. Both a shard and a writer go by the log's order, so each user has the first
// of them and lacks the last. How many a user has can only be told from what the board shows. Sequences of the log come
// back, so nobody can say who reached a score first by an operation in doubt or later.
type Doubt struct {
	oracle *Oracle
	past   *Oracle // as it was before the operations in doubt
	ops    map[rankcore.UserID][]storedOp
	cut    map[rankcore.UserID]int // so many of the user's operations are in doubt; the later ones are not
}

type storedOp struct {
	op     rankcore.Op
	stored time.Time
}

// Suspect starts a doubt: every operation applied from now on may turn out to be lost, until Cut.
func (o *Oracle) Suspect() *Doubt {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := &Doubt{oracle: o, past: o.copy(), ops: map[rankcore.UserID][]storedOp{}, cut: map[rankcore.UserID]int{}}
	o.doubt = d
	return d
}

// Cut ends the time of the doubt: what is applied from now on counts for certain.
func (d *Doubt) Cut() {
	d.oracle.mu.Lock()
	defer d.oracle.mu.Unlock()
	for u, ops := range d.ops {
		d.cut[u] = len(ops)
	}
}

// Users are those with operations since Suspect.
func (d *Doubt) Users() []rankcore.UserID {
	d.oracle.mu.Lock()
	defer d.oracle.mu.Unlock()
	return slices.Collect(maps.Keys(d.ops))
}

// Shown is what a board shows of a user: the score in each season in which the user is ranked.
type Shown map[rankcore.SeasonID]rankcore.Score

// Settle makes the oracle agree with what the board shows of a user, if a number of the operations in doubt being
// lost explains it, and says how many; else it says what the board should show, were none lost.
func (d *Doubt) Settle(u rankcore.UserID, shown Shown, seasons []rankcore.SeasonID) (lost int, err error) {
	d.oracle.mu.Lock()
	defer d.oracle.mu.Unlock()
	ops, doubtful := d.ops[u], d.cut[u]
	var first Shown
	for lost = range doubtful + 1 {
		o := d.past.only(u)
		for i, s := range ops {
			if i < doubtful-lost || i >= doubtful {
				o.Apply(s.op, s.stored)
			}
		}
		would := o.shows(u, seasons)
		if maps.Equal(would, shown) {
			d.oracle.take(u, o)
			return lost, nil
		}
		if first == nil {
			first = would
		}
	}
	return 0, fmt.Errorf("%q shows %v, and should %v, or with some of the last %d operations lost", u, shown, first, doubtful)
}

// End ends the doubt.
func (d *Doubt) End() {
	d.oracle.mu.Lock()
	defer d.oracle.mu.Unlock()
	d.oracle.doubt = nil
}

// shows is what a board must show of a user in the seasons.
func (o *Oracle) shows(u rankcore.UserID, seasons []rankcore.SeasonID) Shown {
	shown := Shown{}
	for _, id := range seasons {
		if s := o.seasons[id]; s != nil && !o.hidden[u] {
			if score, ranked := s.scores[u]; ranked {
				shown[id] = rankcore.Score(score)
			}
		}
	}
	return shown
}

// copy is an independent oracle of the same knowledge.
func (o *Oracle) copy() *Oracle {
	c := NewOracle(o.board)
	for id, s := range o.seasons {
		c.seasons[id] = &oracleSeason{s.span, maps.Clone(s.scores), maps.Clone(s.arrived)}
	}
	c.hidden, c.users = maps.Clone(o.hidden), maps.Clone(o.users)
	for u, m := range o.memory {
		c.memory[u] = maps.Clone(m)
	}
	return c
}

// only is an oracle that knows of one user what o knows.
func (o *Oracle) only(u rankcore.UserID) *Oracle {
	c := NewOracle(o.board)
	c.take(u, o)
	return c
}

// take replaces what o knows of a user by what from does.
func (o *Oracle) take(u rankcore.UserID, from *Oracle) {
	o.users[u], o.hidden[u] = true, from.hidden[u]
	for _, s := range o.seasons {
		delete(s.scores, u)
		delete(s.arrived, u)
	}
	for _, s := range from.seasons {
		if score, ranked := s.scores[u]; ranked {
			season := o.season(s.span)
			season.scores[u], season.arrived[u] = score, s.arrived[u]
		}
	}
	o.memory[u] = maps.Clone(from.memory[u])
}
