package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"rankgate/rankcore"
)

// ready is a reader that has its answers at hand, as the cache in front has them.
type ready struct {
	rankcore.Reader
	page     *rankcore.Page
	standing *rankcore.Standing
}

func (r ready) Top(context.Context, rankcore.TopQuery) (*rankcore.Page, error) { return r.page, nil }

func (r ready) Rank(context.Context, rankcore.RankQuery) (*rankcore.Standing, error) {
	return r.standing, nil
}

func readyAnswers() ready {
	meta := rankcore.Meta{
		Season: "all", Status: rankcore.Fresh, AsOf: time.Now(), Total: 100_000_000,
		Version: rankcore.Position{Seq: 1_234_567, Time: 1_764_500_000_123_456_789},
	}
	page := &rankcore.Page{Meta: meta}
	for i := range 100 {
		page.Entries = append(page.Entries, rankcore.Entry{Rank: int64(i + 1), User: rankcore.UserID(fmt.Sprintf("player-%05d", i*7919)), Score: rankcore.Score(9_000_000 - i*13)})
	}
	return ready{page: page, standing: &rankcore.Standing{
		Meta: meta, User: "player-00042", Score: 1_280_340, Precision: rankcore.Approx,
		Rank: 12_800_000, Low: 12_790_001, High: 12_810_000, Percentile: 87.2,
	}}
}

// benchmarkGet measures a handler without the socket: routing, parameters, encoding, headers.
func benchmarkGet(b *testing.B, path string) {
	core, reader := newCore(), readyAnswers()
	g, err := New(Config{
		Boards: boards(), Reader: reader, Writer: core, Applied: core, Outcomes: core, Verifier: core,
		Health: func(context.Context) Health { return Health{} },
	})
	if err != nil {
		b.Fatal(err)
	}
	g.App().Handler()
	handle := g.App().Server().Handler
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.Request.SetRequestURI(path)
		ctx.Request.Header.SetHost("x")
		handle(&ctx)
		if ctx.Response.StatusCode() != fasthttp.StatusOK {
			b.Fatalf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
		}
	}
}

func BenchmarkTop(b *testing.B)  { benchmarkGet(b, "/v1/boards/power/top?limit=100") }
func BenchmarkRank(b *testing.B) { benchmarkGet(b, "/v1/boards/power/users/player-00042/rank") }

// BenchmarkTopReflected is what the encoder written by hand is held against.
func BenchmarkTopReflected(b *testing.B) {
	type entry struct {
		Rank  int64           `json:"rank"`
		User  rankcore.UserID `json:"user"`
		Score rankcore.Score  `json:"score"`
	}
	page := readyAnswers().page
	b.ReportAllocs()
	for b.Loop() {
		rows := make([]entry, 0, len(page.Entries))
		for _, e := range page.Entries {
			rows = append(rows, entry{e.Rank, e.User, e.Score})
		}
		if _, err := json.Marshal(rows); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTopEncoded(b *testing.B) {
	page, on := readyAnswers().page, board("power", nil)
	var e encoder
	b.ReportAllocs()
	for b.Loop() {
		e.top(on, page)
		e.digest()
	}
}
