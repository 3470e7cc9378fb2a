package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// hotEdge is an edge over a cache tier over a core at rest.
func hotEdge(t *testing.T) *edge {
	return &edge{core: newCore(), Gateway: newHot(t, 64<<20), t: t}
}

// An answer out of memory is packed for those who take it, under the same ETag, and says that it depends on them.
func TestGzip(t *testing.T) {
	const top = "/v1/boards/power/top"
	e := hotEdge(t)
	if first := e.get(top, "Accept-Encoding", "gzip").want(200); first.header.Get("Content-Encoding") != "" {
		t.Error("an answer that may never be asked for again was packed")
	}
	plain := e.get(top).want(200)
	for _, c := range []struct {
		accept string
		packed bool
	}{
		{"gzip", true},
		{"GZIP", true},
		{"br;q=1.0, gzip;q=0.8", true},
		{"deflate,gzip ; q=0.001", true},
		{"", false},
		{"identity", false},
		{"gzip;q=0", false},
		{"gzip; q=0.000", false},
		{"br", false},
		{"gzipped", false},
	} {
		r := e.get(top, "Accept-Encoding", c.accept).want(200)
		body := r.body
		if packed := r.header.Get("Content-Encoding") == "gzip"; packed != c.packed {
			t.Errorf("Accept-Encoding %q: packed %v", c.accept, packed)
		} else if packed {
			if len(body) > len(plain.body)/2 {
				t.Errorf("packed, %d bytes of %d", len(body), len(plain.body))
			}
			unpacked, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(unpacked)
			if err != nil {
				t.Fatal(err)
			}
			body = string(all)
		}
		if body != plain.body {
			t.Errorf("Accept-Encoding %q: another body", c.accept)
		}
		for _, name := range []string{"Etag", "Content-Type", "Cache-Control", "Cache-Status", "Vary"} {
			if got, want := r.header.Get(name), plain.header.Get(name); got != want || got == "" {
				t.Errorf("Accept-Encoding %q: %s %q, want %q", c.accept, name, got, want)
			}
		}
		if r.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Vary: %q", r.header.Get("Vary"))
		}
	}
	head := e.call("HEAD", top, "", "Accept-Encoding", "gzip").want(200)
	if head.body != "" || head.header.Get("Content-Encoding") != "gzip" || head.header.Get("Etag") != plain.header.Get("Etag") {
		t.Errorf("HEAD: %v", head.header)
	}
	same := e.get(top, "Accept-Encoding", "gzip", "If-None-Match", `"other", `+plain.header.Get("Etag")).want(304)
	if same.body != "" || same.header.Get("Content-Encoding") != "" || same.header.Get("Vary") != "Accept-Encoding" || same.header.Get("Etag") != plain.header.Get("Etag") {
		t.Errorf("304: %v", same.header)
	}
	rank := "/v1/boards/power/users/a/rank"
	e.get(rank)
	if r := e.get(rank, "Accept-Encoding", "gzip").want(200); r.header.Get("Content-Encoding") != "" || r.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("a small answer: %v", r.header)
	}
}

// What differs between two askers of one answer is in the headers, and what is in the body does not change while the
// answer is kept: it is encoded once.
func TestEncodedOnce(t *testing.T) {
	g := newHot(t, 64<<20)
	q := rankcore.TopQuery{Board: g.calendars["power"].board, Season: "all", Limit: 100}
	first := g.readTop(q, time.Now())
	if g.topForm(q.Board, first); first.Slot.Form() != nil {
		t.Error("an answer that did not come out of memory has kept its form")
	}
	page := g.readTop(q, time.Now())
	f := g.topForm(q.Board, page)
	if again := g.readTop(q, time.Now()); again != page || g.topForm(q.Board, again) != f {
		t.Error("encoded again")
	}
	if event := string(g.topEvent(q.Board, page)); !strings.HasSuffix(event, "\ndata: "+string(f.body)+"\n") || strings.Count(event, "\n") != 4 {
		t.Errorf("the event is not the body: %q", event)
	}
	late := settled(page, &page.Meta, time.Now().Add(time.Minute), time.Now())
	if other := g.topForm(q.Board, late); bytes.Equal(other.body, f.body) || bytes.Equal(other.tag, f.tag) || !bytes.Contains(other.body, []byte(`"status":"stale"`)) {
		t.Errorf("the same rows with another status: %s %s", other.tag, other.body[:80])
	}
}

// Every answer ends its line, so that the prompt of who asked in a terminal starts on the next one.
func TestAnswersEndTheirLine(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":1}`).want(202)
	for _, path := range []string{
		"/livez", "/readyz", "/v1/boards", "/v1/boards/power", "/v1/boards/power/top", "/v1/boards/power/entries",
		"/v1/boards/power/users/a/rank", "/v1/boards/power/users/a/around", "/v1/boards/power/users/b/rank", "/nowhere",
	} {
		if r := e.get(path); !strings.HasSuffix(r.body, "}\n") || strings.Count(r.body, "\n") != 1 {
			t.Errorf("%s: %q", path, r.body)
		}
	}
	for _, r := range []reply{e.post("power", `{"user":"a","add":1}`), e.post("power", `{}`), e.call("POST", "/v1/boards/power/ranks", `{"users":["a"]}`)} {
		if !strings.HasSuffix(r.body, "}\n") || strings.Count(r.body, "\n") != 1 {
			t.Errorf("POST: %q", r.body)
		}
	}
}

// A form takes no more than its answer says that it may, however long names and numbers are: the tier that keeps the
// answer has counted that. Those of plain ids are kept with their answers.
func TestFormsKeepToTheirBound(t *testing.T) {
	g := newHot(t, 1<<20)
	for _, c := range []struct {
		name  string
		users *rapid.Generator[string]
		most  int64 // rank, total
		board int   // length of its name
		plain bool
	}{
		{"plain", rapid.StringMatching(`[a-zA-Z0-9_-]{3,256}`), 1e10, 20, true},
		{"long", rapid.OneOf(rapid.StringN(1, 64, 256), rapid.StringMatching(`["\\]{1,256}`)), math.MaxInt64, 63, false},
	} {
		t.Run(c.name, rapid.MakeCheck(func(rt *rapid.T) {
			count := func(what string) int64 { return rapid.Int64Range(1, c.most).Draw(rt, what) }
			entry := func() rankcore.Entry {
				score := rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore).Draw(rt, "score")
				return rankcore.Entry{Rank: count("rank"), User: rankcore.UserID(c.users.Draw(rt, "user")), Score: rankcore.Score(score)}
			}
			b := board(strings.Repeat("b", c.board), func(b *rankcore.Board) { b.Scale = rapid.IntRange(0, 9).Draw(rt, "scale") })
			m := rankcore.Meta{
				Season: "month:2026-11", Status: rankcore.Stale, Reason: rankcore.ShardRebuilding, Origin: rankcore.FromMemory, AsOf: time.Now(),
				Total: count("total"), Version: rankcore.Position{Seq: uint64(c.most), Time: math.MaxInt64},
			}
			page := &rankcore.Page{Meta: m}
			for range rapid.IntRange(0, 40).Draw(rt, "rows") {
				page.Entries = append(page.Entries, entry())
			}
			f := g.topForm(b, page)
			f.gzipped()
			if kept := page.Slot.Form() == f; c.plain && !kept || kept && formSize(f) > page.FormBytes() {
				rt.Fatalf("page: kept %v, %d bytes of %d", kept, formSize(f), page.FormBytes())
			}
			e := entry()
			s := &rankcore.Standing{
				Meta: m, User: e.User, Score: e.Score, Precision: rankcore.Approx,
				Rank: e.Rank, Low: count("low"), High: count("high"), Percentile: 99.9999,
			}
			f = g.standingForm(b, s)
			if kept := s.Slot.Form() == f; c.plain && !kept || kept && formSize(f) > s.FormBytes() {
				rt.Fatalf("standing: kept %v, %d bytes of %d: %s", kept, formSize(f), s.FormBytes(), f.body)
			}
		}))
	}
}

// formSize is what f takes in memory.
func formSize(f *form) int {
	n := int(unsafe.Sizeof(*f)) + cap(f.body) + cap(f.tag)
	if packed := f.packed.Load(); packed != nil {
		n += int(unsafe.Sizeof(*packed)) + cap(*packed)
	}
	return n
}

// What is read from a request is a view into a buffer that the next one reuses. Users that come to be known, are found
// and are found missing, on one connection, each get their own answer, whatever was kept of them.
func TestKeptAnswersAreOfTheirUser(t *testing.T) {
	e := hotEdge(t)
	c := dial(t, e.serve())
	for round := range 3 {
		for i := range 500 {
			n := (i*7 + round*13) % 500
			user := fmt.Sprintf("user%03d", n)
			fmt.Fprintf(c, "GET /v1/boards/power/users/%s/rank?season=day HTTP/1.1\r\nHost: x\r\n\r\n", user)
			c.reply().want(http.StatusOK).field("user", user)
			fmt.Fprintf(c, "GET /v1/boards/power/users/user%%3%d%02d/around?limit=3 HTTP/1.1\r\nHost: x\r\n\r\n", n/100, n%100)
			if r := c.reply().want(http.StatusOK).field("user", user); !strings.Contains(r.rows(), " "+user+" ") {
				t.Fatalf("around %s: %s", user, r.rows())
			}
		}
	}
}
