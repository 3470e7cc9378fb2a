package quota

import "time"

// Ledger is what one account used on one day. It is the rule that every Store follows, pure: the caller brings
// now. Not safe for concurrent use.
type Ledger struct {
	Spent int
	held  map[string]time.Time // request id -> when its reservation lapses
}

// Used is how many units are spent or held.
func (l *Ledger) Used(now time.Time) int {
	for id, until := range l.held {
		if !now.Before(until) {
			delete(l.held, id)
		}
	}
	return l.Spent + len(l.held)
}

// Reserve holds a unit for id, anew where it holds one already. It changes nothing when none is left.
func (l *Ledger) Reserve(id string, limit int, now time.Time) bool {
	used := l.Used(now)
	if _, has := l.held[id]; !has && used >= limit {
		return false
	}
	if l.held == nil {
		l.held = make(map[string]time.Time, 1)
	}
	l.held[id] = now.Add(HeldFor)
	return true
}

// Confirm spends the unit that id holds, and reports whether it held one.
func (l *Ledger) Confirm(id string, now time.Time) bool {
	l.Used(now)
	_, has := l.held[id]
	if has {
		delete(l.held, id)
		l.Spent++
	}
	return has
}

// Release gives back the unit that id holds, and reports whether it held one.
func (l *Ledger) Release(id string) bool {
	_, has := l.held[id]
	delete(l.held, id)
	return has
}
