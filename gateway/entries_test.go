package gateway

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

// A walk gets every row once, ranks going on over pages whose edges lie in ties, and ends without a cursor.
func TestEntries(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7},{"user":"c/ é","add":7},{"user":"d","add":7},{"user":"e","add":1}`).want(202)
	for limit := 1; limit <= 6; limit++ {
		var rows []string
		path, pages := fmt.Sprintf("/v1/boards/power/entries?limit=%d", limit), 0
		for cursor := ""; ; pages++ {
			r := e.get(path+cursor).want(200).field("total", "5").field("status", "fresh")
			rows = append(rows, r.rows())
			next, more := r.json()["next_cursor"].(string)
			if !more {
				break
			}
			if next != url.QueryEscape(next) {
				t.Fatalf("not safe in a URL: %s", next)
			}
			cursor = "&cursor=" + next
		}
		if got := strings.Join(rows, ", "); got != "1 a 9, 2 b 7, 2 c/ é 7, 2 d 7, 5 e 1" || pages != (5-1)/limit {
			t.Errorf("by %d: %s in %d pages", limit, got, pages+1)
		}
	}
	r := e.get("/v1/boards/power/entries?min_score=2&max_score=8&limit=2").want(200)
	if got := r.rows(); got != "2 b 7, 2 c/ é 7" {
		t.Errorf("the range: %s", got)
	}
	next := fmt.Sprint(r.json()["next_cursor"])
	if got := e.get("/v1/boards/power/entries?cursor=" + next).want(200).rows(); got != "2 d 7" {
		t.Errorf("the cursor does not hold the range: %s", got)
	}
	e.get("/v1/boards/power/entries?min_score=2&max_score=8&cursor=" + next).want(200)
	e.get("/v1/boards/power/entries?min_score=2&cursor=" + next).problem(badRequest)
	if got := e.get("/v1/boards/laps/entries").want(200).field("total", "0"); got.rows() != "" || got.json()["next_cursor"] != nil {
		t.Errorf("an empty board: %s", got.body)
	}
}

// A cursor stays in the season it began in, and in no other board, and none but those given out are taken.
func TestCursors(t *testing.T) {
	e := newEdge(t, nil)
	e.post("coins", `{"user":"a","set":"2.50"},{"user":"b","set":"1"}`).want(202)
	next := fmt.Sprint(e.get("/v1/boards/coins/entries?limit=1").want(200).json()["next_cursor"])
	today := "day:" + time.Now().UTC().Format("2006-01-02")
	for _, season := range []string{"", "&season=day", "&season=" + today} {
		if got := e.get("/v1/boards/coins/entries?cursor="+next+season).want(200).field("season", today).rows(); got != `2 b "1.00"` {
			t.Errorf("with %q: %s", season, got)
		}
	}
	e.get("/v1/boards/coins/entries?season=week&cursor=" + next).problem(badRequest)
	e.get("/v1/boards/power/entries?cursor=" + next).problem(badRequest)
	b := e.calendars["coins"].board
	old := rankcore.Cursor{Season: "day:2001-01-01", After: rankcore.Place{Score: 1, User: "a"}}.Encode(b)
	e.get("/v1/boards/coins/entries?cursor=" + old).problem(unknownSeason)
	odd := rankcore.Cursor{Season: "fortnight"}.Encode(b)
	e.get("/v1/boards/coins/entries?cursor=" + odd).problem(badRequest)
	for i := range next {
		letter := "A"
		if next[i] == 'A' {
			letter = "B"
		}
		r := e.get("/v1/boards/coins/entries?cursor=" + next[:i] + letter + next[i+1:]).problem(badRequest)
		if strings.Contains(r.body, next[:8]) {
			t.Fatalf("the cursor is repeated: %s", r.body)
		}
	}
}

func TestAround(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7},{"user":"c","add":7},{"user":"d","add":3},{"user":"e f","add":1}`).want(202)
	for path, want := range map[string]string{
		"c/around?limit=3": "2 b 7, 2 c 7, 4 d 3",
		"c/around?limit=1": "2 c 7",
		"c/around":         "1 a 9, 2 b 7, 2 c 7, 4 d 3, 5 e f 1",
		"e%20f/around":     "1 a 9, 2 b 7, 2 c 7, 4 d 3, 5 e f 1",
	} {
		if got := e.get("/v1/boards/power/users/"+path).want(200).field("total", "5").rows(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	r := e.get("/v1/boards/power/users/e%20f/around").want(200).field("user", "e f")
	if got := r.header.Get("Cache-Control"); !strings.HasPrefix(got, "private") {
		t.Errorf("Cache-Control %q", got)
	}
	e.get("/v1/boards/power/users/e%20f/around", "If-None-Match", r.header.Get("Etag")).want(304)
	e.get("/v1/boards/power/users/nobody/around").problem(notRanked)
	e.call("PUT", "/v1/boards/power/hidden/c", "").want(202)
	e.get("/v1/boards/power/users/c/around").problem(notRanked)
	if got := e.get("/v1/boards/power/users/b/around").want(200).rows(); got != "1 a 9, 2 b 7, 3 d 3, 4 e f 1" {
		t.Errorf("with one hidden: %s", got)
	}
}

func TestRanksOfSeveral(t *testing.T) {
	keys := func(c *Config) {
		c.Auth.Service = ServiceAuth{Mode: ModeKeys, Keys: []ServiceKey{{"game", strings.Repeat("0", 64)}}}
	}
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7},{"user":"c","add":7},{"user":"d","add":1}`).want(202)
	const path = "/v1/boards/power/ranks"
	r := e.call("POST", path, `{"users":["d","nobody","b","d","c"]}`).want(200).field("status", "fresh").field("total", "4")
	var rows []string
	for _, one := range r.json()["ranks"].([]any) {
		m := one.(map[string]any)
		rows = append(rows, fmt.Sprint(m["user"], " ", m["rank"], " ", m["place"]))
	}
	if got := strings.Join(rows, ", "); got != "d 4 3, nobody <nil> <nil>, b 2 1, d 4 3, c 2 1" {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(r.body, `{"user":"nobody","rank":null}`) || !strings.Contains(r.body, `"precision":"exact","tied":2`) {
		t.Error(r.body)
	}
	if got := r.header.Get("Cache-Control"); !strings.HasPrefix(got, "private") || r.header.Get("Etag") == "" {
		t.Errorf("%v", r.header)
	}
	e.call("POST", path, `{"users":["a"]}`, "If-None-Match", "*").want(200)
	e.core.rank = func(s *rankcore.Standing) {
		if s.User == "b" {
			*s = *rankcore.Unknown(s.User, s.Season, rankcore.CoreDown)
		}
	}
	if r := e.call("POST", path, `{"users":["b","nobody","d","a"]}`).want(200); !strings.Contains(r.body,
		`"ranks":[{"user":"b","rank":null,"status":"updating"},{"user":"nobody","rank":null},{"user":"d",`) || !strings.Contains(r.body, `"place":2}`) {
		t.Errorf("one of whom nothing is known: %s", r.body)
	}
	e.core.rank = nil
	e.down = unavailable(rankcore.CoreSlow)
	e.call("POST", path, `{"users":["a"]}`).want(200).field("status", "updating").field("ranks", "[]")
	e.call("POST", path, `{"users":["a"]}`, "Prefer", "handling=strict").problem(notFresh)
	e.down = nil

	for _, body := range []string{`{"users":`, `{"users":["a"],"x":1}`, `{"users":[]}`} {
		e.call("POST", path, body).problem(badBody)
	}
	e.call("POST", path, `{"users":["a"]}`, "Content-Type", "text/plain").problem(notJSON)
	e.call("POST", path+"?precision=exact", `{"users":["a"]}`).problem(badRequest)
	locked := newEdge(t, keys)
	locked.call("POST", path, `{"users":["a"]}`).want(200).field("ranks", "[map[rank:<nil> user:a]]")
}

// While nothing can be shown a walk is not over: the answer has the place to go on from.
func TestWalkWhileUpdating(t *testing.T) {
	e := newEdge(t, nil)
	e.post("power", `{"user":"a","add":9},{"user":"b","add":7},{"user":"c","add":5}`).want(202)
	next := fmt.Sprint(e.get("/v1/boards/power/entries?limit=1").want(200).json()["next_cursor"])
	for _, at := range []string{"", "&cursor=" + next} {
		e.down = unavailable(rankcore.CoreDown)
		r := e.get("/v1/boards/power/entries?limit=1"+at).want(200).field("status", "updating").field("entries", "[]").field("message", "ranking updating")
		e.down = nil
		again := fmt.Sprint(r.json()["next_cursor"])
		if at != "" && again != next {
			t.Errorf("the place is %s, want %s", again, next)
		}
		if got, want := e.get("/v1/boards/power/entries?limit=1&cursor="+again).rows(), map[bool]string{true: "1 a 9", false: "2 b 7"}[at == ""]; got != want {
			t.Errorf("going on: %s, want %s", got, want)
		}
	}
	e.down = unavailable(rankcore.CoreDown)
	e.get("/v1/boards/power/users/a/around").want(200).field("status", "updating").field("entries", "[]").field("user", "a")
}

func TestRefusedLists(t *testing.T) {
	e := newEdge(t, nil)
	for _, path := range []string{
		"entries?limit=0", "entries?limit=1001", "entries?offset=1", "entries?cursor=", "entries?cursor=%20", "entries?min_score=x",
		"entries?min_score=1.5", "entries?max_score=9007199254740992", "entries?min_score=2&max_score=1", "entries?season=x",
		"users/a/around?limit=0", "users/a/around?limit=102", "users/a/around?cursor=x", "users/../around",
	} {
		e.get("/v1/boards/power/" + path).problem(badRequest)
	}
	e.get("/v1/boards/nothing/entries").problem(unknownBoard)
	e.get("/v1/boards/nothing/users/a/around").problem(unknownBoard)
	e.call("POST", "/v1/boards/nothing/ranks", `{"users":["a"]}`).problem(unknownBoard)
	e.call("GET", "/v1/boards/power/ranks", "").problem(wrongMethod)
}
