package gateway

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"rankgate/cachetier"
	"rankgate/rankcore"
)

// settledCore is a core in which nothing changes, over any number of users.
type settledCore struct{ rankcore.Reader }

func settledMeta(season rankcore.SeasonID) rankcore.Meta {
	return rankcore.Meta{
		Season: season, Status: rankcore.Fresh, AsOf: time.Now(), Total: 100_000_000,
		Version: rankcore.Position{Seq: 1_234_567, Time: 1_764_500_000_123_456_789},
	}
}

func (settledCore) Top(_ context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	page := &rankcore.Page{Meta: settledMeta(q.Season)}
	for i := q.Offset; i < q.Offset+q.Limit; i++ {
		page.Entries = append(page.Entries, rankcore.Entry{
			Rank: int64(i + 1), User: rankcore.UserID(fmt.Sprintf("player-%05d", i*7919)), Score: rankcore.Score(9_000_000 - i*13),
		})
	}
	return page, nil
}

func (settledCore) Rank(_ context.Context, q rankcore.RankQuery) (*rankcore.Standing, error) {
	return &rankcore.Standing{
		Meta: settledMeta(q.Season), User: q.User, Score: 1_280_340, Precision: rankcore.Approx,
		Rank: 12_800_000, Low: 12_790_001, High: 12_810_000, Percentile: 87.2,
	}, nil
}

func (c settledCore) Rows(ctx context.Context, q rankcore.RowsQuery) (*rankcore.Page, error) {
	page, err := c.Top(ctx, rankcore.TopQuery{Season: q.Season, Offset: 1000, Limit: q.Limit})
	page.Entries[q.Limit/2].User = q.Around
	return page, err
}

// caughtUp says that the applier is.
type caughtUp struct{}

func (caughtUp) Progress(rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
	now := time.Now()
	return rankcore.Progress{CaughtUp: now}, now, true
}

// hitBoards have answers that stay fresh while they are measured.
func hitBoards() []*rankcore.Board {
	return []*rankcore.Board{board("power", func(b *rankcore.Board) {
		b.Freshness = time.Hour
		b.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day}
		b.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour}
	})}
}

// newHot is a gateway over a cache tier over a core at rest. Its callers are strangers, each of whose requests is counted.
func newHot(tb testing.TB, maxBytes int64) *Gateway {
	return newHotLimited(tb, maxBytes, Limits{PerAddressRPS: 1 << 30})
}

func newHotLimited(tb testing.TB, maxBytes int64, limits Limits) *Gateway {
	tb.Helper()
	tier, err := cachetier.New(cachetier.Config{Source: settledCore{}, Progress: caughtUp{}, MaxBytes: maxBytes})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(tier.Close)
	core := newCore()
	g, err := New(Config{
		Boards: hitBoards(), Reader: tier, Writer: core, Applied: core, Outcomes: core, Verifier: core,
		Health: func(context.Context) Health { return Health{} },
		Limits: limits,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// direct calls a server's handler without a socket, in one request and one answer that are used again and again.
type direct struct {
	handle fasthttp.RequestHandler
	ctx    fasthttp.RequestCtx
}

func newDirect(app *fiber.App) *direct {
	d := &direct{}
	app.Handler()
	d.handle = app.Server().Handler
	d.arrive()
	return d
}

// arrive makes it now that requests are read, as a server does for each.
func (d *direct) arrive() { d.ctx.Init(&fasthttp.Request{}, nil, nil) }

// ask sends a GET. Headers come as name, value.
func (d *direct) ask(uri []byte, headers ...string) *fasthttp.Response {
	d.ctx.Request.Reset()
	d.ctx.Response.Reset()
	d.ctx.Request.Header.SetRequestURIBytes(uri)
	d.ctx.Request.Header.SetHost("x")
	for i := 0; i < len(headers); i += 2 {
		d.ctx.Request.Header.Set(headers[i], headers[i+1])
	}
	d.handle(&d.ctx)
	return &d.ctx.Response
}

// warm asks until the answer comes out of memory, ready to send.
func (d *direct) warm(tb testing.TB, uri []byte, headers ...string) *fasthttp.Response {
	tb.Helper()
	d.arrive()
	for range 3 {
		d.ask(uri, headers...)
	}
	r := d.ask(uri, headers...)
	if s := r.StatusCode(); s != 200 && s != 304 || string(r.Header.Peek("Cache-Status")) != "rankgate; hit" {
		tb.Fatalf("%s: %d, %s: %s", uri, s, r.Header.Peek("Cache-Status"), r.Body())
	}
	return r
}

// hits are questions whose answers are in memory. Each has its own URI by the number of the request.
type hits struct {
	name    string
	uris    [][]byte
	headers []string
}

const (
	topURI  = "/v1/boards/power/top?limit=100"
	rankURI = "/v1/boards/power/users/player-%06d/rank"
)

// askedHits are the questions that are held against a bare handler. tag is the top's ETag.
func askedHits(users int, tag string) []hits {
	ranks := make([][]byte, users)
	for i := range ranks {
		ranks[i] = fmt.Appendf(nil, rankURI, i)
	}
	one := func(uri string) [][]byte { return [][]byte{[]byte(uri)} }
	return []hits{
		{"top", one(topURI), nil},
		{"gzip", one(topURI), []string{"Accept-Encoding", "gzip, deflate, br"}},
		{"304", one(topURI), []string{"If-None-Match", tag}},
		{"day", one(topURI + "&season=day"), nil},
		{"rank", ranks, nil},
		{"around", one("/v1/boards/power/users/player-000001/around"), nil},
	}
}

// bare is a Fiber application that sends what r is, whatever it is asked.
func bare(r *fasthttp.Response) *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	status, body := r.StatusCode(), bytes.Clone(r.Body())
	var names, values []string
	for name, value := range r.Header.All() {
		if string(name) != fiber.HeaderContentLength {
			names, values = append(names, string(name)), append(values, string(value))
		}
	}
	app.Get("/*", func(c *fiber.Ctx) error {
		for i, name := range names {
			c.Set(name, values[i])
		}
		return c.Status(status).Send(body)
	})
	return app
}

// BenchmarkHit is an answer out of memory, without the socket, beside a bare Fiber handler that sends the same bytes.
// Callers come from where nobody is counted, but for those of "counted", who ask for the top as strangers.
// The two take turns, and what counts is the best turn of each: on a machine that has other work, time that passed
// says little.
func BenchmarkHit(b *testing.B) {
	uncounted := newDirect(newHotLimited(b, 256<<20, Limits{PerAddressRPS: -1}).App())
	counted := newDirect(newHot(b, 64<<20).App())
	tag := string(uncounted.warm(b, []byte(topURI)).Header.Peek(fiber.HeaderETag))
	for _, h := range append(askedHits(100_000, tag), hits{"counted", [][]byte{[]byte(topURI)}, nil}) {
		b.Run(h.name, func(b *testing.B) {
			d := uncounted
			if h.name == "counted" {
				d = counted
			}
			var sent *fasthttp.Response
			for _, uri := range h.uris {
				sent = d.warm(b, uri, h.headers...)
			}
			plain := newDirect(bare(sent))
			ours, theirs := turns{best: time.Hour}, turns{best: time.Hour}
			for b.Loop() {
				ours.turn(d, h)
				theirs.turn(plain, h)
			}
			b.ReportMetric(float64(ours.best)/askedInTurn, "ns/hit")
			b.ReportMetric(float64(theirs.best)/askedInTurn, "ns/bare")
			b.ReportMetric(float64(ours.best)/float64(theirs.best), "x-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// askedInTurn is how many questions a turn has: few enough to take less than a scheduler's slice.
const askedInTurn = 500

// turns are the turns of one of two.
type turns struct {
	asked int
	best  time.Duration
}

func (t *turns) turn(d *direct, h hits) {
	start := time.Now()
	for range askedInTurn {
		d.ask(h.uris[t.asked%len(h.uris)], h.headers...)
		t.asked++
	}
	t.best = min(t.best, time.Since(start))
}
