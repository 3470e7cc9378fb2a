package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rankgate/rankcore"
)

// core is a whole ranking in a map, the obvious way: what is behind the gateway in these tests. Operations
// wait in its log while it is held, and every call fails with down while that is set.
type core struct {
	mu     sync.Mutex
	seq    uint64
	scores map[rankcore.BoardID]map[rankcore.UserID]rankcore.Score
	hidden map[rankcore.BoardID]map[rankcore.UserID]bool
	memory map[rankcore.OpKey]remembered
	log    []func()
	held   bool
	down   error
	floors int
	moved  chan struct{} // closed and renewed when something is applied

	page func(*rankcore.Page)     // what a layer in front would make of an answer
	rank func(*rankcore.Standing) // the same

	audited func(shard int) // called before Verify tells of a shard
}

type remembered struct {
	digest  uint32
	outcome rankcore.Outcome
}

func newCore() *core {
	return &core{
		scores: map[rankcore.BoardID]map[rankcore.UserID]rankcore.Score{},
		hidden: map[rankcore.BoardID]map[rankcore.UserID]bool{},
		memory: map[rankcore.OpKey]remembered{},
		moved:  make(chan struct{}),
	}
}

func (c *core) Append(_ context.Context, b *rankcore.Board, ops []rankcore.Op) (Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return Receipt{}, c.down
	}
	c.seq++
	ops = slices.Clone(ops)
	c.log = append(c.log, func() {
		for i := range ops {
			c.apply(b, &ops[i])
		}
	})
	if !c.held {
		c.drain()
	}
	name := rankcore.Position{Seq: c.seq, Time: int64(c.seq) * 1e9}
	return Receipt{Position: fmt.Sprintf("%d-%d", c.seq, 1000), Name: name}, nil
}

// drain applies the log; mu is held.
func (c *core) drain() {
	for _, apply := range c.log {
		apply()
	}
	c.log = nil
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *core) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	c.drain()
}

func (c *core) apply(b *rankcore.Board, op *rankcore.Op) {
	if op.ID != "" {
		if _, known := c.memory[op.Key()]; known {
			return
		}
	}
	outcome := rankcore.Applied
	scores := c.scores[b.ID]
	if scores == nil {
		scores = map[rankcore.UserID]rankcore.Score{}
		c.scores[b.ID], c.hidden[b.ID] = scores, map[rankcore.UserID]bool{}
	}
	was, had := scores[op.User]
	switch op.Kind {
	case rankcore.OpAdd:
		if sum := was + op.Value; !sum.InRange() {
			outcome = rankcore.OutOfRange
		} else {
			scores[op.User] = sum
		}
	case rankcore.OpSet:
		scores[op.User] = op.Value
	case rankcore.OpBest:
		if !had || b.Order.Better(op.Value, was) {
			scores[op.User] = op.Value
		}
	case rankcore.OpRemove:
		delete(scores, op.User)
	case rankcore.OpHide:
		c.hidden[b.ID][op.User] = true
	case rankcore.OpShow:
		delete(c.hidden[b.ID], op.User)
	}
	if now, has := scores[op.User]; outcome == rankcore.Applied && op.Kind.HasValue() && has && had && now == was {
		outcome = rankcore.Unchanged
	}
	c.memory[op.Key()] = remembered{op.Digest(), outcome}
}

func (c *core) Outcomes(_ context.Context, _ *rankcore.Board, ops []rankcore.Op) ([]rankcore.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	outcomes := make([]rankcore.Outcome, len(ops))
	for i := range ops {
		if m, known := c.memory[ops[i].Key()]; known {
			outcomes[i] = m.outcome
			if m.digest != ops[i].Digest() {
				outcomes[i] = rankcore.Conflict
			}
		}
	}
	return outcomes, nil
}

func (c *core) Applied(ctx context.Context, _ rankcore.BoardID, _ rankcore.Position) error {
	c.mu.Lock()
	pending, moved := len(c.log) > 0, c.moved
	c.mu.Unlock()
	if !pending {
		return nil
	}
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Included says that what is applied was applied just now.
func (c *core) Included(ctx context.Context, _ rankcore.BoardID, at rankcore.Position) (time.Time, error) {
	for {
		c.mu.Lock()
		included, moved := at.Seq <= c.seq && len(c.log) == 0, c.moved
		c.mu.Unlock()
		if included {
			return time.Now(), nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

func (c *core) Floor(rankcore.BoardID) { c.mu.Lock(); c.floors++; c.mu.Unlock() }

// standings are a board's ranked rows; mu is held.
func (c *core) standings(b *rankcore.Board) []rankcore.Entry {
	var rows []rankcore.Entry
	for u, s := range c.scores[b.ID] {
		if !c.hidden[b.ID][u] {
			rows = append(rows, rankcore.Entry{User: u, Score: s})
		}
	}
	slices.SortFunc(rows, b.Order.Compare)
	rankcore.TiesShared.SetRanks(rows, 0, 0)
	return rows
}

func (c *core) meta(season rankcore.SeasonID, total int) rankcore.Meta {
	m := rankcore.Meta{Season: season, Status: rankcore.Fresh, AsOf: time.Now(), Total: int64(total)}
	if c.seq > 0 {
		m.Version = rankcore.Position{Seq: c.seq, Time: int64(c.seq) * 1e9}
	}
	return m
}

func (c *core) Top(_ context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	rows := c.standings(q.Board)
	page := &rankcore.Page{Meta: c.meta(q.Season, len(rows))}
	page.Entries = rows[min(q.Offset, len(rows)):min(q.Offset+q.Limit, len(rows))]
	if c.page != nil {
		c.page(page)
	}
	return page, nil
}

func (c *core) Rank(_ context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	rows := c.standings(q.Board)
	at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == q.User })
	if at < 0 {
		return nil, rankcore.ErrNotRanked
	}
	me := rows[at]
	s := &rankcore.Standing{
		Meta: c.meta(q.Season, len(rows)), User: me.User, Score: me.Score,
		Precision: rankcore.Exact, Rank: me.Rank, Low: me.Rank, High: me.Rank,
	}
	worse := int64(0)
	for _, e := range rows {
		if e.Score == me.Score {
			s.Tied++
		} else if e.Rank > me.Rank {
			worse++
		}
	}
	s.Percentile = rankcore.Percentile(worse, int64(len(rows)))
	if q.Precision == rankcore.Approx {
		s.Precision, s.Tied, s.Low, s.High = rankcore.Approx, 0, max(1, me.Rank-1), min(int64(len(rows)), me.Rank+1)
	}
	if c.rank != nil {
		c.rank(s)
	}
	return s, nil
}

func (c *core) Rows(_ context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	rows := c.standings(q.Board)
	page := &rankcore.Page{Meta: c.meta(q.Season, len(rows))}
	if q.Around != "" {
		at := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return e.User == q.Around })
		if at < 0 {
			return nil, rankcore.ErrNotRanked
		}
		page.Entries = rows[max(at-q.Limit/2, 0):min(at+q.Limit-q.Limit/2, len(rows))]
	} else {
		least, most := q.Within.Bounds()
		rows = slices.DeleteFunc(rows, func(e rankcore.Entry) bool {
			return e.Score < least || e.Score > most || !q.Gap().Precedes(q.Board.Order.Key(e.Score), e.Arrival, e.User)
		})
		page.Entries, page.More = rows[:min(q.Limit, len(rows))], len(rows) > q.Limit
	}
	if c.page != nil {
		c.page(page)
	}
	return page, nil
}

func (c *core) Ranks(ctx context.Context, q rankcore.RanksQuery) (*rankcore.Standings, error) {
	batch := &rankcore.Standings{Users: make([]*rankcore.Standing, len(q.Users))}
	for i, u := range q.Users {
		st, err := c.Rank(ctx, rankcore.RankQuery{Board: q.Board, Season: q.Season, User: u})
		if err != nil && !errors.Is(err, rankcore.ErrNotRanked) {
			return nil, err
		}
		batch.Users[i] = st
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	batch.Meta = c.meta(q.Season, len(c.standings(q.Board)))
	for _, st := range batch.Users {
		if st != nil {
			batch.Meta = st.Meta
		}
	}
	return batch, nil
}

func (c *core) hold() { c.mu.Lock(); c.held = true; c.mu.Unlock() }

func (c *core) pending() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.log) > 0 }
