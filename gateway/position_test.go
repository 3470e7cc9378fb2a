package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

const ifApplied = "If-Position-Applied"

// reads are one of each sort, about user b.
var reads = []string{
	"GET /v1/boards/power/top", "GET /v1/boards/power/users/b/rank", "GET /v1/boards/power/users/b/rank?precision=exact",
	"GET /v1/boards/power", "GET /v1/boards/power/users/b/around", "GET /v1/boards/power/entries", "POST /v1/boards/power/ranks",
}

// read sends one of the reads with a position that its answer is to include.
func (e *edge) read(request, position string) reply {
	e.t.Helper()
	var body string
	if request == reads[len(reads)-1] {
		body = `{"users":["b"]}`
	}
	method, path, _ := strings.Cut(request, " ")
	return e.call(method, path, body, ifApplied, position)
}

func TestPositionApplied(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7}`).want(202)
	e.hold()
	position := e.post("power", `{"user":"b","add":1}`).want(202).json()["position"].(string)
	for _, r := range reads {
		e.read(r, position).want(200).field("status", "stale").field("reason", "applier_behind")
		e.read(r, "").want(200).field("status", "fresh")
	}
	e.release()
	for _, r := range reads {
		e.read(r, position).want(200).field("status", "fresh")
	}
	e.read(reads[1], position).field("score", "8")
	e.read(reads[0], "4000000000-1764500000000").want(200).field("reason", "applier_behind") // of a write that nobody knows
}

func TestPositionOfAFirstScore(t *testing.T) {
	e := newEdge(t, nil)
	e.hold()
	position := e.post("power", `{"user":"b","add":7}`).want(202).json()["position"].(string)
	for _, r := range []string{reads[1], reads[4]} {
		e.read(r, "").problem(notRanked)
		e.read(r, position).want(200).field("status", "updating").field("reason", "applier_behind")
	}
}

// A read waits a little for the write.
func TestPositionIsWaitedFor(t *testing.T) {
	e := newEdge(t, nil)
	e.hold()
	position := e.post("power", `{"user":"b","add":7}`).want(202).json()["position"].(string)
	applied := time.AfterFunc(includeWithin/10, e.release)
	defer applied.Stop()
	e.read(reads[1], position).want(200).field("status", "fresh").field("score", "7")
}

func TestPositionWithStrict(t *testing.T) {
	e := newEdge(t, nil)
	e.hold()
	position := e.post("power", `{"user":"b","add":7}`).want(202).json()["position"].(string)
	e.get("/v1/boards/power/top", ifApplied, position, "Prefer", "handling=strict").problem(notFresh)
}

// An estimate that rests on counts from before the write may lack it.
func TestPositionAndOlderCounts(t *testing.T) {
	e := newEdge(t, nil)
	position := e.post("power", `{"user":"b","add":7}`).want(202).json()["position"].(string)
	e.core.rank = func(s *rankcore.Standing) { s.AsOf = s.AsOf.Add(-time.Second) }
	e.read(reads[1], position).want(200).field("status", "stale").field("reason", "applier_behind")
	e.read(reads[1], "").want(200).field("status", "fresh")
}

func TestMalformedPositions(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"b","add":7}`).want(202)
	for _, position := range []string{"x", "none", "1", "1-", "-1", "0-1000", "1-x", "-1-1000", "1--1000", "1-1000-1", "1-99999999999999", "99999999999999999999-1", "1-1000, 2-1000"} {
		for _, r := range reads {
			e.read(r, position).problem(badRequest)
		}
	}
}

func TestCacheStatus(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"b","add":7}`).want(202)
	for _, c := range []struct {
		origin rankcore.Origin
		status rankcore.Status
		want   string
	}{
		{rankcore.Asked, rankcore.Fresh, "rankgate; fwd=miss"},
		{rankcore.Asked, rankcore.Stale, "rankgate; fwd=stale"},
		{rankcore.AskedAgain, rankcore.Fresh, "rankgate; fwd=stale"},
		{rankcore.FromMemory, rankcore.Fresh, "rankgate; hit"},
		{rankcore.FromMemory, rankcore.Stale, "rankgate; hit"},
	} {
		e.core.page = func(p *rankcore.Page) { p.Origin, p.Status = c.origin, c.status }
		e.core.rank = func(s *rankcore.Standing) { s.Origin, s.Status = c.origin, c.status }
		for _, r := range reads {
			answer := e.read(r, "").want(200)
			if got := answer.header.Get("Cache-Status"); got != c.want {
				t.Errorf("%s: %q, want %q", r, got, c.want)
			}
			if tag := answer.header.Get("Etag"); c.status == rankcore.Fresh && r == reads[0] {
				again := e.get("/v1/boards/power/top", "If-None-Match", tag).want(http.StatusNotModified)
				if got := again.header.Get("Cache-Status"); got != c.want {
					t.Errorf("304: %q, want %q", got, c.want)
				}
			}
		}
	}
}
