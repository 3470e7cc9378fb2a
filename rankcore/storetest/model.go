package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"rankgate/rankcore"
)

// model is a board as anybody would write it down: maps, and a sort for every question.
type model struct {
	board   *rankcore.Board
	scores  map[rankcore.SeasonID]map[rankcore.UserID]reached
	folded  int // operations so far
	seasons map[rankcore.SeasonID]rankcore.Season
	hidden  map[rankcore.UserID]bool
	memory  map[[2]string]remembered
}

// reached is a score, and which operation of all gave it.
type reached struct {
	score   rankcore.Score
	turn    int
	arrival rankcore.Arrival // what the operation says of that
}

type remembered struct {
	stored int64
	op     rankcore.Op
}

func newModel(b *rankcore.Board) *model {
	return &model{
		board: b, scores: map[rankcore.SeasonID]map[rankcore.UserID]reached{},
		seasons: map[rankcore.SeasonID]rankcore.Season{}, hidden: map[rankcore.UserID]bool{}, memory: map[[2]string]remembered{},
	}
}

// take folds the operations of one message and retires what has expired by then.
func (m *model) take(to rankcore.Position, ops []rankcore.PlacedOp) []rankcore.Outcome {
	outcomes := make([]rankcore.Outcome, len(ops))
	for i, op := range ops {
		outcomes[i] = m.fold(op)
	}
	for id, s := range m.seasons {
		if !s.Kept(to.At()) {
			delete(m.scores, id)
			delete(m.seasons, id)
		}
	}
	return outcomes
}

func (m *model) fold(op rankcore.PlacedOp) rankcore.Outcome {
	m.folded++
	if op.ID != "" {
		key := [2]string{string(op.User), op.ID}
		if r, ok := m.memory[key]; ok && max(op.Stored-r.stored, r.stored-op.Stored) <= m.board.Dedupe.Milliseconds() {
			if r.op.Kind == op.Kind && r.op.Value == op.Value && r.op.At.Equal(op.At) {
				return rankcore.Duplicate
			}
			return rankcore.Conflict
		}
		m.memory[key] = remembered{op.Stored, op.Op}
	}
	switch op.Kind {
	case rankcore.OpRemove:
		return m.remove(op)
	case rankcore.OpHide, rankcore.OpShow:
		if m.hidden[op.User] == (op.Kind == rankcore.OpHide) {
			return rankcore.Unchanged
		}
		m.hidden[op.User] = op.Kind == rankcore.OpHide
		return rankcore.Applied
	default:
		return m.score(op)
	}
}

// remove reaches the seasons that are still kept when the operation is stored.
func (m *model) remove(op rankcore.PlacedOp) rankcore.Outcome {
	out := rankcore.Unchanged
	if m.hidden[op.User] {
		out = rankcore.Applied
		delete(m.hidden, op.User)
	}
	for id, scores := range m.scores {
		if _, ok := scores[op.User]; ok && m.seasons[id].Kept(time.UnixMilli(op.Stored)) {
			out = rankcore.Applied
			delete(scores, op.User)
		}
	}
	return out
}

func (m *model) score(op rankcore.PlacedOp) rankcore.Outcome {
	next := map[rankcore.SeasonID]rankcore.Score{}
	for _, s := range op.Seasons {
		at, had := m.scores[s.ID][op.User]
		old, value := at.score, op.Value
		switch {
		case op.Kind == rankcore.OpAdd:
			value += old
		case op.Kind == rankcore.OpBest && had && !m.board.Order.Better(value, old):
			value = old
		}
		if !value.InRange() {
			return rankcore.OutOfRange
		}
		if !had || value != old {
			next[s.ID] = value
		}
	}
	if len(next) == 0 {
		return rankcore.Unchanged
	}
	for _, s := range op.Seasons {
		value, ok := next[s.ID]
		if !ok {
			continue
		}
		if m.scores[s.ID] == nil {
			m.scores[s.ID] = map[rankcore.UserID]reached{}
			m.seasons[s.ID] = s
		}
		m.scores[s.ID][op.User] = reached{value, m.folded, op.Arrival}
	}
	return rankcore.Applied
}

// ranking is the whole season in order, with ranks.
func (m *model) ranking(season rankcore.SeasonID) []rankcore.Entry {
	var rows []rankcore.Entry
	scores := m.scores[season]
	for u, at := range scores {
		if !m.hidden[u] {
			rows = append(rows, rankcore.Entry{User: u, Score: at.score, Arrival: at.arrival})
		}
	}
	slices.SortFunc(rows, func(a, b rankcore.Entry) int {
		switch {
		case m.board.Order.Better(a.Score, b.Score):
			return -1
		case m.board.Order.Better(b.Score, a.Score):
			return 1
		case m.board.Ties == rankcore.TiesFirst:
			return cmp.Compare(scores[a.User].turn, scores[b.User].turn)
		}
		return cmp.Compare(a.User, b.User)
	})
	for i := range rows {
		rows[i].Rank = int64(i) + 1
		if i > 0 && rows[i].Score == rows[i-1].Score && m.board.Ties == rankcore.TiesShared {
			rows[i].Rank = rows[i-1].Rank
		}
	}
	return rows
}

// check holds every answer of the store against the model. asked are users to ask for.
func (f *feeder) check(asked ...string) {
	f.t.Helper()
	for _, k := range f.board.Seasons {
		season := f.board.SeasonAt(k, f.at.At()).ID
		rows := f.model.ranking(season)
		if err := f.checkTop(season, rows); err != nil {
			f.t.Fatal(err)
		}
		if err := f.checkLists(season, rows, asked); err != nil {
			f.t.Fatalf("%s: %v", season, err)
		}
		for _, u := range asked {
			i := slices.IndexFunc(rows, func(e rankcore.Entry) bool { return string(e.User) == u })
			if err := f.checkRank(season, rankcore.UserID(u), rows, i); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

func (f *feeder) checkTop(season rankcore.SeasonID, rows []rankcore.Entry) error {
	for _, q := range [...]struct{ offset, limit int }{{0, 0}, {0, 1}, {0, 10}, {3, 4}, {0, len(rows) + 1}, {len(rows), 5}} {
		page, err := f.store.Top(f.t.Context(), rankcore.TopQuery{Board: f.board, Season: season, Offset: q.offset, Limit: q.limit})
		if err != nil {
			return fmt.Errorf("top %+v: %w", q, err)
		}
		want := rows[min(q.offset, len(rows)):min(q.offset+q.limit, len(rows))]
		if page.Total != int64(len(rows)) || page.Status != rankcore.Fresh || page.Season != season || !slices.Equal(page.Entries, want) {
			return fmt.Errorf("top %+v of %s:\n got %+v\nwant total %d, %v", q, season, page, len(rows), want)
		}
	}
	return nil
}

func (f *feeder) checkRank(season rankcore.SeasonID, u rankcore.UserID, rows []rankcore.Entry, i int) error {
	for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx, rankcore.Auto} {
		q := rankcore.RankQuery{Board: f.board, Season: season, User: u, Precision: p}
		got, err := f.store.Rank(f.t.Context(), q)
		if i < 0 {
			if !errors.Is(err, rankcore.ErrNotRanked) {
				return fmt.Errorf("%v rank of unranked %q in %s: %+v, %w", p, u, season, got, err)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%v rank of %q in %s: %w", p, u, season, err)
		}
		if err := f.checkStanding(got, p, rows, i); err != nil {
			return fmt.Errorf("%v rank of %q in %s: %w\n got %+v\nwant %+v of %v", p, u, season, err, got, rows[i], rows)
		}
	}
	return nil
}

func (f *feeder) checkStanding(got *rankcore.Standing, asked rankcore.Precision, rows []rankcore.Entry, i int) error {
	row := rows[i]
	tied, worse := int64(0), int64(0)
	for _, other := range rows {
		if other.Score == row.Score {
			tied++
		}
		if other.Rank > row.Rank {
			worse++
		}
	}
	switch {
	case got.User != row.User || got.Score != row.Score || got.Arrival != row.Arrival || got.Total != int64(len(rows)) || got.Status != rankcore.Fresh:
		return errors.New("another member, score, total or status")
	case asked != rankcore.Auto && got.Precision != asked, got.Precision == rankcore.Auto:
		return errors.New("not the precision asked for")
	case got.Low > row.Rank || got.High < row.Rank || got.Rank < got.Low || got.Rank > got.High:
		return errors.New("bounds that do not hold")
	case got.Precision == rankcore.Exact && (got.Low != got.High || got.Tied != tied || got.Percentile != rankcore.Percentile(worse, got.Total)):
		return errors.New("not exact, or another tie or percentile")
	case got.Percentile < 0 || got.Percentile > 100:
		return errors.New("a percentile out of range")
	}
	return nil
}
