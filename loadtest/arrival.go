package loadtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"rankgate/rankcore"
)

// arrival is what can be known from outside of when a user reached a score. A writer sends one operation after the other,
// so the log has its operations in that order; and what was acknowledged before another operation was sent comes before
// that. Everything else may stand in either order.
type arrival struct {
	writer      int
	serial      int64 // counts the operations the oracle was told of
	sent, acked int64 // moments of the oracle; the first copy that was sent, and the last that was acknowledged
}

// unknownArrival is of an operation of which nobody told how it was sent: it may have come before or after any other.
var unknownArrival = arrival{writer: -1, acked: math.MaxInt64}

// Sending is operations on their way from one writer.
type Sending struct {
	oracle *Oracle
	writer int
	moment int64
}

// Sending is called before operations of a writer are sent for the first time. A writer has one Sending at a time.
func (o *Oracle) Sending(writer int) Sending {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moment++
	return Sending{o, writer, o.moment}
}

// Acked folds the operations that were sent, in their order; see Oracle.Apply.
func (s Sending) Acked(ops []rankcore.Op, stored time.Time) {
	s.oracle.mu.Lock()
	defer s.oracle.mu.Unlock()
	s.oracle.moment++
	arrived := arrival{writer: s.writer, sent: s.moment, acked: s.oracle.moment}
	for _, op := range ops {
		s.oracle.told++
		arrived.serial = s.oracle.told
		s.oracle.apply(op, stored, arrived)
	}
}

// line is a tie as a board shows it, from its first member on.
type line struct {
	sent    int64         // the latest of those in line
	serials map[int]int64 // by writer, the serial of its last in line
}

// joins puts a member at the end of the line, unless it surely came before one who stands there.
func (l *line) joins(a arrival) bool {
	last, known := l.serials[a.writer]
	if a.acked < l.sent || known && a.writer >= 0 && a.serial < last {
		return false
	}
	l.sent = max(l.sent, a.sent)
	if l.serials == nil {
		l.serials = map[int]int64{}
	}
	l.serials[a.writer] = a.serial
	return true
}

// places are the ranks that a board gave to its members where whoever came first stands ahead.
type places map[rankcore.UserID]int64

// place notes a rank, which must be one of those that the member's tie takes, and the one it was given before.
func (c *Comparison) place(what string, u rankcore.UserID, rank int64, m Member) {
	if rank < m.Rank || rank >= m.Rank+m.Tied {
		c.expect(what, rank, fmt.Sprintf("%d to %d", m.Rank, m.Rank+m.Tied-1))
		return
	}
	if before, placed := c.placed[u]; placed {
		c.expect(what, rank, before)
	}
	c.placed[u] = rank
}

// line expects that no two members were placed on one rank, and none behind another who surely reached the score later.
func (c *Comparison) line(want Standings) {
	users := make([]rankcore.UserID, 0, len(c.placed))
	for u := range c.placed {
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b rankcore.UserID) int { return int(c.placed[a] - c.placed[b]) })
	var tie line
	for i, u := range users {
		m := want.Members[u]
		if i > 0 && c.placed[u] == c.placed[users[i-1]] {
			c.expect(fmt.Sprintf("rank of %q", u), fmt.Sprintf("%d, as %q", c.placed[u], users[i-1]), "its own")
		}
		if i == 0 || m.Rank != want.Members[users[i-1]].Rank {
			tie = line{}
		}
		if !tie.joins(m.arrived) {
			c.expect(fmt.Sprintf("rank of %q", u), c.placed[u], "one ahead of a later one's")
		}
	}
}
