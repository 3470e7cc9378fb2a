package gateway

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

func TestTop(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"bob","add":120},{"user":"alice","add":120},{"user":"cy","add":7}`).want(202)
	r := e.get("/v1/boards/power/top").want(200).
		field("board", "power").field("season", "all").field("status", "fresh").field("total", "3").
		field("version", "1-1000000000")
	if got, want := r.rows(), "1 alice 120, 1 bob 120, 3 cy 7"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", r.json()["as_of"].(string)); err != nil {
		t.Error(err)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	if got := e.get("/v1/boards/power/top?limit=1&offset=1").want(200).rows(); got != "1 bob 120" {
		t.Errorf("the second row is %s", got)
	}
	if got := e.get("/v1/boards/power/top?offset=999").want(200).rows(); got != "" {
		t.Errorf("past the end: %s", got)
	}
	if body := e.get("/v1/boards/laps/top").want(200).field("total", "0").body; !strings.Contains(body, `"entries":[]`) {
		t.Errorf("an empty board: %s", body)
	}
}

func TestScalesAndSeasons(t *testing.T) {
	e := newEdge(t, nil)
	e.post("coins", `{"user":"a","set":"12.30"},{"user":"b","set":-0.05}`).want(202)
	today := "day:" + time.Now().UTC().Format("2006-01-02")
	r := e.get("/v1/boards/coins/top").want(200).field("season", today)
	if got := r.rows(); got != `1 a "12.30", 2 b "-0.05"` {
		t.Errorf("rows %s", got)
	}
	e.get("/v1/boards/coins/users/b/rank?season=week").want(200).field("score", "-0.05")
	e.get("/v1/boards/coins/top?season="+url.QueryEscape(today)).want(200).field("season", today)
	e.get("/v1/boards/coins/top?season=all").problem(unknownSeason)
	e.get("/v1/boards/coins/top?season=day:2001-01-01").problem(unknownSeason)
	e.get("/v1/boards/coins/top?season=day:2001-13-01").problem(badRequest)
	e.get("/v1/boards/coins/top?season=fortnight").problem(badRequest)
}

func TestRank(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7},{"user":"c","add":7},{"user":"d","add":1}`).want(202)
	r := e.get("/v1/boards/power/users/b/rank").want(200).field("user", "b").field("score", "7").field("rank", "2").
		field("precision", "exact").field("tied", "2").field("total", "4").field("percentile", "33.3333")
	if _, has := r.json()["rank_low"]; has {
		t.Error("an exact rank has bounds")
	}
	r = e.get("/v1/boards/power/users/b/rank?precision=approx").want(200).field("precision", "approx").
		field("rank_low", "1").field("rank_high", "3")
	if _, has := r.json()["tied"]; has {
		t.Error("an estimate tells how many are tied")
	}
	e.get("/v1/boards/power/users/b/rank?precision=exact").want(200).field("rank", "2")
	e.get("/v1/boards/power/users/nobody/rank").problem(notRanked)
	e.get("/v1/boards/nothing/users/b/rank").problem(unknownBoard)
	e.get("/v1/boards/power/users/b/rank?precision=guess").problem(badRequest)
}

// What stands in a path is decoded once, by us: every id that a user may have is served, and nothing else is.
func TestNamesInPaths(t *testing.T) {
	e := newEdge(t, nil)
	ids := []string{
		"a/b", "a:b", "{x}", "{}", "two words", "🏆", "@scope/pkg", "~tilde", "a.b", "...", "%41", "%2F", "+", "a+b",
		"?", "#", "日本", "rank", "users", `"quoted"`, `back\slash`, "<b>&", strings.Repeat("x", 256), "\u00e9", "e\u0301",
	}
	for _, id := range ids {
		op, err := json.Marshal(map[string]any{"user": id, "add": 1})
		if err != nil {
			t.Fatal(err)
		}
		e.post("power", string(op)).want(202)
		e.get("/v1/boards/power/users/"+url.PathEscape(id)+"/rank").want(200).field("user", id)
	}
	e.get("/v1/boards/power/top").want(200).field("total", "25")
	e.get("/v1/boards/p%6Fwer/users/%7Etilde/rank").want(200).field("board", "power").field("user", "~tilde")
	for _, path := range []string{"%zz", "%4", "%", "%ff", "%00", "%0A", "%7f", "%C2%80", ".", "..", "%2E", "%2e%2E", strings.Repeat("x", 257)} {
		e.get("/v1/boards/power/users/" + path + "/rank").problem(badRequest)
		e.call("DELETE", "/v1/boards/power/users/"+path, "").problem(badRequest)
		e.call("PUT", "/v1/boards/power/hidden/"+path, "").problem(badRequest)
	}
	e.get("/v1/boards/%zz/top").problem(badRequest)
}

// One thing has one path: other spellings of the fixed parts are nothing.
func TestOnePathForOneThing(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"user1","add":1}`).want(202)
	for _, path := range []string{
		"/V1/boards/power/top", "/v1/boards/power/TOP", "/v1/boards/power/top/", "/v1/boards/power/", "/v1/boards/",
		"/v1/board%73/power/top", "//v1/boards/power/top", "/v1//boards", "/v1/boards//top", "/v1/boards/power/users/a/b/rank",
		"/v1/boards/power/users//rank", "/v1/boards/power/users/user1/rank/", "/v1", "/nothing", "/livez/", "/metrics",
	} {
		e.get(path).problem(notFound)
	}
	for _, path := range []string{"/v1/boards/POWER/top", "/v1/boards/Power", "/v1/boards/nothing/top", "/v1/boards/pow er"} {
		e.get(strings.ReplaceAll(path, " ", "%20")).problem(unknownBoard)
	}
	e.get("/v1/boards/power/users/USER1/rank").problem(notRanked)
	e.get("/v1/boards/power/users/user%31/rank").want(200).field("user", "user1")
}

func TestHeadAnswersAsGet(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7}`).want(202)
	asked := rankcore.Exact
	e.core.rank = func(s *rankcore.Standing) { asked = s.Precision }
	for _, path := range []string{
		"/v1/boards", "/v1/boards/power", "/v1/boards/power/top", "/v1/boards/power/users/a/rank?precision=approx",
		"/", "/openapi.json", "/livez", "/readyz",
	} {
		get, head := e.get(path).want(200), e.call("HEAD", path, "").want(200)
		if head.body != "" || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %v %q", path, head.header, head.body)
		}
	}
	if asked != rankcore.Exact { // the core answers auto exactly, and approx not
		t.Error("HEAD asked for another precision than auto")
	}
	e.call("HEAD", "/v1/boards/power/users/nobody/rank", "").want(404)
	e.call("HEAD", "/v1/boards/power/top?limit=x", "").want(400)
}

// A read of a known board is answered, whatever fails behind it.
func TestReadsNeverFail(t *testing.T) {
	e := newEdge(t, nil)
	for _, c := range []struct {
		err    error
		reason string
	}{
		{unavailable(rankcore.ShardRebuilding), "shard_rebuilding"},
		{unavailable(rankcore.CoreSlow), "core_slow"},
		{errTest, "core_down"},
	} {
		e.down = c.err
		for path, empty := range map[string]string{
			"/v1/boards/power/top": `"entries":[]`, "/v1/boards/power/users/a/rank": `"rank":null`, "/v1/boards/power": `"total":null`,
		} {
			r := e.get(path).want(200).field("status", "updating").field("reason", c.reason).field("message", "ranking updating")
			if !strings.Contains(r.body, empty) || strings.Contains(r.body, "redis") {
				t.Errorf("%s: %s", path, r.body)
			}
			if r.header.Get("Retry-After") == "" || r.header.Get("Cache-Control") != "no-store" || r.header.Get("Etag") != "" {
				t.Errorf("%s: %v", path, r.header)
			}
			e.get(path, "Prefer", "respond-async, handling=strict").problem(notFresh)
		}
		e.get("/v1/boards").want(200)
		e.get("/v1/boards", "Prefer", "handling=strict").problem(notFresh)
	}
}

// A mixed-up reply is not shown.
func TestAnotherUsersStanding(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7}`).want(202)
	e.core.rank = func(s *rankcore.Standing) { s.User = "b" }
	if r := e.get("/v1/boards/power/users/a/rank").want(200).field("status", "updating"); strings.Contains(r.body, `"b"`) {
		t.Error(r.body)
	}
}

func TestFreshnessHeaders(t *testing.T) {
	e := newEdge(t, func(c *Config) {
		c.Boards = []*rankcore.Board{board("power", func(b *rankcore.Board) { b.Freshness = time.Minute })}
	})
	e.post("power", `{"user":"a","add":9}`).want(202)
	age := func(m *rankcore.Meta) { m.AsOf = time.Now().Add(-20*time.Second - 500*time.Millisecond) }
	e.core.page = func(p *rankcore.Page) { age(&p.Meta) }
	e.core.rank = func(s *rankcore.Standing) { age(&s.Meta) }
	r := e.get("/v1/boards/power/top").want(200)
	if r.header.Get("Cache-Control") != "public, max-age=39" || r.header.Get("Age") != "20" || r.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("top: %v", r.header)
	}
	r = e.get("/v1/boards/power/users/a/rank").want(200)
	if r.header.Get("Cache-Control") != "private, max-age=39" || r.header.Get("Age") != "20" {
		t.Errorf("rank: %v", r.header)
	}
	e.core.page = func(p *rankcore.Page) { age(&p.Meta); p.Status, p.Reason = rankcore.Stale, rankcore.CoreSlow }
	r = e.get("/v1/boards/power/top").want(200).field("status", "stale").field("reason", "core_slow")
	if r.header.Get("Cache-Control") != "public, max-age=0" {
		t.Errorf("stale: %v", r.header)
	}
	e.get("/v1/boards/power/top", "Prefer", "handling=strict").problem(notFresh)
	e.get("/v1/boards/power/top", "Prefer", "handling=lenient").want(200)
	e.get("/v1/boards/power/users/a/rank", "Prefer", `Handling="strict"; x=1`).want(200)
}

func TestETag(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7}`).want(202)
	const path = "/v1/boards/power/top"
	first := e.get(path).want(200).header.Get("Etag")
	if !strings.HasPrefix(first, `W/"`) {
		t.Fatalf("ETag %q", first)
	}
	for _, held := range []string{first, strings.TrimPrefix(first, "W/"), `"x", ` + first, "*"} {
		r := e.get(path, "If-None-Match", held).want(304)
		if r.body != "" || r.header.Get("Etag") != first || r.header.Get("Cache-Control") == "" || r.header.Get("Vary") == "" {
			t.Errorf("304: %v %q", r.header, r.body)
		}
	}
	e.get(path+"?limit=1", "If-None-Match", first).want(200)
	e.get("/v1/boards/power/users/a/rank", "If-None-Match", first).want(200)
	// The same version with other rows, as while a shard is out.
	e.core.page = func(p *rankcore.Page) { p.Entries = p.Entries[:1] }
	e.get(path, "If-None-Match", first).want(200)
	e.core.page = func(p *rankcore.Page) { p.Status, p.Reason = rankcore.Stale, rankcore.CoreSlow }
	stale := e.get(path, "If-None-Match", first).want(200).header.Get("Etag")
	e.get(path, "If-None-Match", stale).want(200)
	e.core.page = nil
	e.post("power", `{"user":"b","add":7}`).want(202)
	e.get(path, "If-None-Match", first).want(200)
}

func TestBoards(t *testing.T) {
	e := newEdge(t, nil)
	e.post("coins", `{"user":"a","set":1}`).want(202)
	r := e.get("/v1/boards/coins").want(200).field("board", "coins").field("order", "desc").field("update", "set").
		field("ties", "shared").field("scale", "2").field("timezone", "UTC").field("head", "1000").field("total", "1").field("status", "fresh")
	seasons := r.json()["seasons"].([]any)
	day := seasons[0].(map[string]any)
	if len(seasons) != 2 || day["season"] != "day:"+time.Now().UTC().Format("2006-01-02") ||
		!strings.HasSuffix(day["ends_at"].(string), "T00:00:00Z") || !strings.HasSuffix(day["starts_at"].(string), "T00:00:00Z") {
		t.Errorf("seasons %v", seasons)
	}
	for _, season := range seasons {
		if s := season.(map[string]any); fmt.Sprintf("%v %v", s["total"], s["status"]) != "1 fresh" || s["as_of"] == nil {
			t.Errorf("season %v", s)
		}
	}
	count := func(path string) int { return len(e.get(path).want(200).json()["boards"].([]any)) }
	if count("/v1/boards") != 3 || count("/v1/boards?season=day") != 1 || count("/v1/boards?season=month") != 0 {
		t.Error("not the boards there are")
	}
	e.get("/v1/boards?season=x").problem(badRequest)
	e.get("/v1/boards/nothing").problem(unknownBoard)
}
