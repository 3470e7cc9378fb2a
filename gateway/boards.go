package gateway

import (
	"errors"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// boardAnswer is a board's definition and how it stands.
type boardAnswer struct {
	Board            rankcore.BoardID `json:"board"`
	Order            rankcore.Order   `json:"order"`
	Update           rankcore.Update  `json:"update"`
	Ties             rankcore.Ties    `json:"ties"`
	Scale            int              `json:"scale"`
	Shards           int              `json:"shards"`
	Timezone         string           `json:"timezone"`
	Head             int              `json:"head"`
	ExactDepth       int64            `json:"exact_depth"`
	DedupeSeconds    float64          `json:"dedupe_seconds"`
	FreshnessSeconds float64          `json:"freshness_seconds"`
	Seasons          []seasonAnswer   `json:"seasons"`
	countAnswer                       // of the season asked about
	Message          string           `json:"message,omitempty"`

	cache *header // Cache-Status
}

// seasonAnswer is a running season. The season without an end has no times.
type seasonAnswer struct {
	countAnswer
	Kind     rankcore.SeasonKind `json:"kind"`
	StartsAt *time.Time          `json:"starts_at,omitempty"`
	EndsAt   *time.Time          `json:"ends_at,omitempty"`
}

// countAnswer is how many members a season has, and how far that is to be believed.
type countAnswer struct {
	Season  rankcore.SeasonID `json:"season"`
	Status  rankcore.Status   `json:"status"`
	Reason  rankcore.Reason   `json:"reason,omitempty"`
	AsOf    string            `json:"as_of"`
	Version string            `json:"version"`
	Total   *int64            `json:"total"` // null while updating
}

func countOf(m *rankcore.Meta) countAnswer {
	a := countAnswer{
		Season: m.Season, Status: m.Status, Reason: m.Reason,
		AsOf: m.AsOf.UTC().Format("2006-01-02T15:04:05.000Z"), Version: m.Version.String(),
	}
	if m.Status != rankcore.Updating {
		a.Total = &m.Total
	}
	return a
}

// counts are all that is said of the board's seasons.
func (a *boardAnswer) counts() []countAnswer {
	all := []countAnswer{a.countAnswer}
	for _, s := range a.Seasons {
		all = append(all, s.countAnswer)
	}
	return all
}

// describeBoard answers GET /v1/boards/{board}.
func (g *Gateway) describeBoard(c *fiber.Ctx) error {
	var r read
	if err := r.begin(g, c, "season"); err != nil {
		return err
	}
	since := r.since()
	if r.err != nil {
		return r.err
	}
	answer := g.boardAnswer(r.board, r.season, since, r.now)
	answer.cache.set(&c.Response().Header)
	if answer.Status == rankcore.Updating {
		c.Set(fiber.HeaderRetryAfter, retryAfter)
	}
	return sendBoards(c, answer, answer)
}

// sendBoards answers with body, which holds what is said of boards. It is looked after each time.
func sendBoards(c *fiber.Ctx, body any, boards ...boardAnswer) error {
	acceptVaries.set(&c.Response().Header)
	keep := "no-cache"
	for i := range boards {
		for _, count := range boards[i].counts() {
			if count.Status != rankcore.Fresh && strictly(c) {
				return refuseStale(count.Status, count.Reason)
			}
			if count.Status == rankcore.Updating {
				keep = "no-store"
			}
		}
	}
	c.Set(fiber.HeaderCacheControl, keep)
	return sendJSON(c, body)
}

// listBoards answers GET /v1/boards. With a season it lists the boards that keep it.
func (g *Gateway) listBoards(c *fiber.Ctx) error {
	now := c.Context().Time()
	var p params
	if err := p.read(c, []string{"season"}); err != nil {
		return err
	}
	answers := make([]boardAnswer, len(g.cfg.Boards))
	var wait sync.WaitGroup
	defer wait.Wait()
	n := 0
	for _, b := range g.cfg.Boards {
		season, err := g.calendars[b.ID].season(p.get("season"), now)
		if errors.Is(err, rankcore.ErrNoSeason) {
			continue
		}
		if err != nil {
			return err
		}
		answer := &answers[n]
		n++
		wait.Go(func() { *answer = g.boardAnswer(b, season, time.Time{}, now) })
	}
	wait.Wait()
	return sendBoards(c, struct {
		Boards []boardAnswer `json:"boards"`
	}{answers[:n]}, answers[:n]...)
}

// boardAnswer asks about all running seasons at once, and about the one that is asked for, which may be past.
func (g *Gateway) boardAnswer(b *rankcore.Board, season rankcore.SeasonID, since, now time.Time) boardAnswer {
	counts := make([]rankcore.Meta, len(b.Seasons)+1)
	asked := &counts[len(b.Seasons)]
	var wait sync.WaitGroup
	ask := func(m *rankcore.Meta, season rankcore.SeasonID) {
		*m = g.readTop(rankcore.TopQuery{Board: b, Season: season, Since: since}, now).Meta
		m.Season = season
	}
	running := make([]seasonAnswer, len(b.Seasons))
	for i, k := range b.Seasons {
		s := b.SeasonAt(k, now)
		if k != rankcore.All {
			start, end := s.Start.UTC(), s.End.UTC()
			running[i].StartsAt, running[i].EndsAt = &start, &end
		}
		running[i].Kind = k
		if s.ID == season {
			asked = &counts[i]
		}
		wait.Go(func() { ask(&counts[i], s.ID) })
	}
	if asked == &counts[len(b.Seasons)] {
		ask(asked, season)
	}
	wait.Wait()
	for i := range running {
		running[i].countAnswer = countOf(&counts[i])
	}
	a := boardAnswer{
		Board: b.ID, Order: b.Order, Update: b.Update, Ties: b.Ties, Scale: b.Scale, Shards: b.Shards,
		Timezone: b.Location.String(), Head: b.Head, ExactDepth: b.ExactDepth,
		DedupeSeconds: b.Dedupe.Seconds(), FreshnessSeconds: b.Freshness.Seconds(),
		Seasons: running, countAnswer: countOf(asked), cache: cacheStatus(asked),
	}
	if asked.Status == rankcore.Updating {
		a.Message = "ranking updating"
	}
	return a
}
