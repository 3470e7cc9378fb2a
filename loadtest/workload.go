package loadtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"rankgate/rankcore"
)

// Workload makes operations whose result is known whatever order different writers' operations take in the log:
// each user has one writer. It holds what boards trip over: ties, negative and huge scores, sums out of range,
// removals, hidden users, ids sent again with the same and with other content, times in other seasons, times
// too late for any, odd user ids. The same seed makes the same operations but for the times.
type Workload struct {
	Board   *rankcore.Board
	Seed    uint64
	Users   int    // of each writer; at least 1
	Session string // makes ids of one workload unlike those of another on the same board; "" is fine for a new board
}

// source makes the operations of one writer. Not safe for concurrent use.
type source struct {
	Workload
	writer int
	rng    *rand.Rand
	serial int
	past   []sentOp // the newest acknowledged operations, some to be sent again
	level  int64    // of the probe
}

type sentOp struct {
	op    rankcore.Op
	acked time.Time
}

func (w Workload) source(writer int) *source {
	return &source{Workload: w, writer: writer, rng: rand.New(rand.NewPCG(w.Seed, uint64(writer)))}
}

// probe is the user whose score this writer only ever raises; see Ledger.
func (s *source) probe() rankcore.UserID { return probeOf(s.writer) }

func probeOf(writer int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("probe-%d", writer)) }

// batch makes n operations at time now, the last of which raises the probe to s.level.
func (s *source) batch(n int, now time.Time) []rankcore.Op {
	ops := make([]rankcore.Op, n)
	for i := range ops[:n-1] {
		ops[i] = s.next(now)
	}
	raise := 1 + s.rng.Int64N(9)
	s.level += raise
	probe := rankcore.Op{ID: s.id(), User: s.probe(), Kind: rankcore.OpSet, Value: rankcore.Score(s.level), At: s.dated(now)}
	if s.Board.Update == rankcore.UpdateAdd {
		probe.Kind, probe.Value = rankcore.OpAdd, rankcore.Score(raise) // an add that counts twice shows, a set does not
	}
	ops[n-1] = probe
	return ops
}

// next makes one operation on one of the writer's users.
func (s *source) next(now time.Time) rankcore.Op {
	i := s.rng.IntN(s.Users)
	op := rankcore.Op{ID: s.id(), User: s.user(i), Kind: s.kind(), At: s.time(now)}
	switch tying := i%3 == 0; {
	case op.Kind.HasValue() && tying: // a sum of many small values still seldom ties
		op.Kind, op.Value = rankcore.OpSet, rankcore.Score(s.rng.IntN(4))
	case op.Kind.HasValue():
		op.Value = s.value()
	}
	if dice := s.rng.IntN(100); dice < 4 && len(s.past) > 0 {
		old := s.past[s.rng.IntN(len(s.past))]
		if now.Sub(old.acked) > s.Board.Dedupe/2 {
			return op // near the horizon nobody can say from outside whether the old id is remembered
		}
		op = old.op
		if dice == 0 { // the same id with other content: a conflict
			op.Kind, op.Value = rankcore.OpSet, op.Value/2+12345
		}
	}
	return op
}

func (s *source) id() string {
	s.serial++
	return fmt.Sprintf("%s%d.%d", s.Session, s.writer, s.serial)
}

// user is the writer's i-th user. Some have names that must be escaped in a path or in JSON.
func (s *source) user(i int) rankcore.UserID {
	forms := [...]string{"w%d-%d", "w%d/%d", "@w%d:{%d}", "w%d %d é\"\\%%", "%%2Fw%d..%d"}
	return rankcore.UserID(fmt.Sprintf(forms[max(0, i%12-7)], s.writer, i))
}

func (s *source) kind() rankcore.OpKind {
	switch dice := s.rng.IntN(100); {
	case dice < 75:
		return [...]rankcore.OpKind{
			rankcore.UpdateAdd: rankcore.OpAdd, rankcore.UpdateSet: rankcore.OpSet, rankcore.UpdateBest: rankcore.OpBest,
		}[s.Board.Update]
	case dice < 85:
		return rankcore.OpSet
	case dice < 90:
		return rankcore.OpRemove
	case dice < 95:
		return rankcore.OpHide
	default:
		return rankcore.OpShow
	}
}

// value is mostly small, and now and then so large that a sum leaves the range.
func (s *source) value() rankcore.Score {
	switch dice := s.rng.IntN(100); {
	case dice < 50:
		return rankcore.Score(s.rng.IntN(20))
	case dice < 75:
		return rankcore.Score(s.rng.IntN(20_000) - 10_000)
	case dice < 97:
		return rankcore.Score(s.rng.Int64N(1<<40) - 1<<39)
	case dice < 99:
		return rankcore.Score(rankcore.MaxScore - s.rng.Int64N(3))
	default:
		return rankcore.Score(s.rng.Int64N(3) - rankcore.MaxScore)
	}
}

// time is when the operation happened. On a board with dated seasons it is always given, since the time the
// log will store the operation at, and so the season it falls into, cannot be known from outside.
func (s *source) time(now time.Time) time.Time {
	ago := time.Duration(0)
	switch dice := s.rng.IntN(100); {
	case dice < 25:
		ago = time.Duration(s.rng.Int64N(int64(40 * 24 * time.Hour)))
	case dice < 27:
		ago = 400 * 24 * time.Hour
	}
	at := s.dated(now.Add(-ago))
	for _, kind := range s.Board.Seasons {
		// Nor can it be known whether a season that ends about now still takes it.
		if expires := spanOf(s.Board, kind, at).expires; !expires.IsZero() && expires.Sub(now).Abs() < expiryMargin {
			return s.dated(now)
		}
	}
	return at
}

// dated is t in the millisecond that the log keeps, or the zero time on a board without dated seasons.
func (s *source) dated(t time.Time) time.Time {
	for _, kind := range s.Board.Seasons {
		if kind != rankcore.All {
			return t.Truncate(time.Millisecond).UTC()
		}
	}
	return time.Time{}
}

// acknowledged remembers operations so that some are sent again.
func (s *source) acknowledged(ops []rankcore.Op, at time.Time) {
	for _, op := range ops {
		if op.User != s.probe() {
			s.past = append(s.past, sentOp{op, at})
		}
	}
	s.past = s.past[max(0, len(s.past)-64):]
}
