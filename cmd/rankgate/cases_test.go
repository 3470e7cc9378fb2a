package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

const caseBoards = `
boards:
  numbers: { shards: 8, update: add }
  shared: { shards: 8, update: set }
  shared-asc: { shards: 8, update: set, order: asc }
  first: { shards: 8, update: best, ties: first }
  noop: { shards: 8, update: best }
  zero: { shards: 8, update: add }
  ghosts: { shards: 8, update: best }
  removed: { shards: 8, update: add, seasons: [all, day, month] }
  views: { shards: 8, update: set }
  hidden: { shards: 8, update: add, seasons: [all, week] }
  pages: { shards: 8, update: set }
  holes: { shards: 8, update: set }
  few: { shards: 8, update: set }
  zone: { shards: 8, update: set, seasons: [day, week], timezone: Pacific/Auckland }
  late: { shards: 8, update: add, seasons: [day] }
  late-all: { shards: 8, update: add, seasons: [all, day] }
  retry: { shards: 8, update: add, seasons: [all, day, week, month] }
`

// TestCases are wrongs that users of other leaderboards have reported, as a client of this one would see them. After
// ?wait=applied the gateway that answered shows nothing older, so each question may follow its write at once. Three
// more are tested where they belong: deep pages cost what the first does (TestDepthCostsNothing), retiring a season does
// not block Redis (TestForgottenIDsLeaveNothing, TestSeasonEmptied), and no read fails (TestReadsNeverFail).
func TestCases(t *testing.T) {
	for store, start := range map[string]func(t *testing.T) *child{
		"embedded": func(t *testing.T) *child { return startChild(t, caseBoards) },
		"redis": func(t *testing.T) *child {
			return startChild(t, "store: { url: "+servers.Redis(t).URL+" }\n"+caseBoards)
		},
	} {
		t.Run(store, func(t *testing.T) {
			c := start(t)
			c.awaitReady(t)
			for _, one := range []struct {
				name string
				test func(k cases)
			}{
				{"IntegersStayExactAndInOrder", cases.integers},
				{"EveryAnswerHasOneRuleForTies", cases.ties},
				{"LaterSubmitterDoesNotOvertake", cases.overtaking},
				{"WorseBestChangesNothing", cases.worseBest},
				{"AscendingIsTheMirror", cases.mirror},
				{"AddZeroAndTheSameScoreAreNoErrors", cases.zero},
				{"LosersLeaveNoGhosts", cases.ghosts},
				{"RemovedStartsAnew", cases.removed},
				{"NobodySeesAnothersView", cases.views},
				{"HiddenIsGoneAndComesBack", cases.hidden},
				{"PagesNeitherSkipNorRepeat", cases.pages},
				{"MissingUsersAreNulls", cases.holes},
				{"EmptyBoardAndOnlyMember", cases.few},
				{"DaysAreTheBoards", cases.zone},
				{"LateOperationsAreNotHalfDone", cases.late},
				{"RetryCountsOnceInEverySeason", cases.retry},
			} {
				t.Run(one.name, func(t *testing.T) { one.test(cases{t, api{t, c.url}}) })
			}
		})
	}
}

type cases struct {
	*testing.T
	api
}

// write applies operations and returns what became of each.
func (k cases) write(board, ops string) string {
	k.Helper()
	var answer struct {
		Applied bool
		Results []string
	}
	status, err := k.do(http.MethodPost, "/v1/boards/"+board+"/scores?wait=applied", `{"ops":[`+ops+`]}`, &answer)
	if err != nil || status != http.StatusOK || !answer.Applied {
		k.Fatalf("%s: %d, %+v, %v", ops, status, answer, err)
	}
	return strings.Join(answer.Results, " ")
}

func (k cases) same(what string, got, want any) {
	k.Helper()
	if got != want {
		k.Errorf("%s: got %v, want %v", what, got, want)
	}
}

type caseRow struct {
	Rank  *int
	User  string
	Score int64
	Place int
}

func (r caseRow) String() string {
	if r.Rank == nil {
		return r.User + "?"
	}
	return fmt.Sprintf("%d:%s:%d", *r.Rank, r.User, r.Score)
}

type caseAnswer struct {
	caseRow
	Status, Version, Precision string
	Total                      int
	Tied                       int
	Percentile                 float64
	Entries, Ranks             []caseRow
	Next                       string `json:"next_cursor"`
}

// ask returns a fresh answer, and of a rank an exact one unless an estimate is asked for. On a busy machine there may be
// none at once; what there is must be right.
func (k cases) ask(path string) (a caseAnswer) {
	k.Helper()
	eventually(k, tryFor, func() error {
		a = caseAnswer{}
		k.get("/v1/boards/"+path, &a)
		if a.Status != "fresh" || a.Precision == "approx" && !strings.Contains(path, "approx") {
			return fmt.Errorf("%s: %+v", path, a)
		}
		return nil
	})
	return a
}

// board is a season as all kinds of answer show it, which must agree: "1:a:120 1:b:120 3:c:7".
func (k cases) board(name, season string) string {
	k.Helper()
	top := k.ask(name + "/top?season=" + season)
	shown := fmt.Sprint(top.Entries)
	k.same("total of the top", top.Total, len(top.Entries))
	var walked []caseRow
	for cursor, more := "", true; more; {
		page := k.ask(name + "/entries?limit=2&season=" + season + cursor)
		walked = append(walked, page.Entries...)
		cursor, more = "&cursor="+url.QueryEscape(page.Next), page.Next != ""
	}
	k.same("pages", fmt.Sprint(walked), shown)
	var users []string
	for _, e := range top.Entries {
		users = append(users, fmt.Sprintf("%q", e.User))
		user := name + "/users/" + url.PathEscape(e.User)
		rank := k.ask(user + "/rank?season=" + season)
		k.same("rank", rank.String(), e.String())
		k.same("total of a rank", rank.Total, top.Total)
		k.same("version of a rank", rank.Version, top.Version)
		around := k.ask(user + "/around?limit=100&season=" + season)
		k.same("around", fmt.Sprint(around.Entries), shown)
	}
	if len(users) == 0 {
		return shown
	}
	slices.Reverse(users)
	slices.Reverse(top.Entries)
	k.same("batch", fmt.Sprint(k.batch(name, season, users...)), fmt.Sprint(top.Entries))
	return shown
}

func (k cases) batch(name, season string, quoted ...string) []caseRow {
	k.Helper()
	var answer caseAnswer
	eventually(k, tryFor, func() error {
		answer = caseAnswer{}
		status, err := k.do(http.MethodPost, "/v1/boards/"+name+"/ranks?season="+season, `{"users":[`+strings.Join(quoted, ",")+`]}`, &answer)
		if err != nil || status != http.StatusOK || answer.Status != "fresh" {
			return fmt.Errorf("batch: %d, %w, %+v", status, err, answer)
		}
		return nil
	})
	return answer.Ranks
}

func (k cases) integers() {
	k.same("outcomes", k.write("numbers", `{"user":"a","add":9007199254740990},{"user":"a","add":1},{"user":"a","add":1},
		{"user":"b","add":9007199254740990},{"user":"c","add":-9007199254740991},{"user":"c","add":-1},{"user":"d","add":-9007199254740990}`),
		"applied applied out_of_range applied applied out_of_range applied")
	k.same("board", k.board("numbers", "all"), "[1:a:9007199254740991 2:b:9007199254740990 3:d:-9007199254740990 4:c:-9007199254740991]")
	for _, beyond := range []string{"9007199254740992", "-9007199254740992", "1e16", "0.5", `"7"`} {
		status, err := k.do(http.MethodPost, "/v1/boards/numbers/scores", `{"ops":[{"user":"a","set":`+beyond+`}]}`, nil)
		k.same(beyond, fmt.Sprint(status, err), "400 <nil>")
	}
}

func (k cases) ties() {
	k.write("shared", `{"user":"d","set":7},{"user":"c","set":120},{"user":"a","set":120},{"user":"b","set":120},{"user":"e","set":7},{"user":"f","set":1}`)
	k.same("board", k.board("shared", "all"), "[1:a:120 1:b:120 1:c:120 4:d:7 4:e:7 6:f:1]")
}

func (k cases) overtaking() {
	k.write("first", `{"user":"m","best":7},{"user":"z","best":7}`)
	earlier := time.Now().Add(-20 * time.Hour).UTC().Format(time.RFC3339)
	k.same("outcome", k.write("first", `{"id":"0","user":"a","best":7,"at":"`+earlier+`"}`), "applied")
	k.same("worse, and the same again", k.write("first", `{"user":"m","best":3},{"user":"m","best":7},{"id":"0","user":"a","best":7,"at":"`+earlier+`"}`), "unchanged unchanged duplicate")
	k.same("board", k.board("first", "all"), "[1:m:7 2:z:7 3:a:7]")
}

func (k cases) worseBest() {
	k.write("noop", `{"user":"a","best":10},{"user":"b","best":20}`)
	before := k.ask("noop/top")
	k.same("outcome", k.write("noop", `{"user":"b","best":19},{"user":"a","best":10}`), "unchanged unchanged")
	after := k.ask("noop/top")
	k.same("version", after.Version, before.Version)
	k.same("rows", fmt.Sprint(after.Entries), fmt.Sprint(before.Entries))
	k.same("version of a rank", k.ask("noop/users/b/rank").Version, before.Version)
}

func (k cases) mirror() {
	scores := []int{5, 3, 5, 0, -4, 3, 3, 9}
	var plain, negated []string
	for i, s := range scores {
		plain = append(plain, fmt.Sprintf(`{"user":"m%d","set":%d}`, i, s))
		negated = append(negated, fmt.Sprintf(`{"user":"m%d","set":%d}`, i, -s))
	}
	k.write("views", strings.Join(plain, ","))
	k.write("shared-asc", strings.Join(negated, ","))
	down, up := k.board("views", "all"), k.board("shared-asc", "all")
	k.same("descending", down, "[1:m7:9 2:m0:5 2:m2:5 4:m1:3 4:m5:3 4:m6:3 7:m3:0 8:m4:-4]")
	k.same("ascending", up, "[1:m7:-9 2:m0:-5 2:m2:-5 4:m1:-3 4:m5:-3 4:m6:-3 7:m3:0 8:m4:4]")
	for i := range scores {
		user := fmt.Sprintf("/users/m%d/rank", i)
		one, other := k.ask("views"+user), k.ask("shared-asc"+user)
		k.same("tie and percentile", fmt.Sprint(one.Tied, one.Percentile), fmt.Sprint(other.Tied, other.Percentile))
	}
}

func (k cases) zero() {
	k.same("outcomes", k.write("zero", `{"user":"a","add":0},{"user":"a","add":0},{"user":"b","add":5},{"user":"b","set":5},{"user":"b","add":0}`),
		"applied unchanged applied unchanged unchanged")
	k.same("board", k.board("zero", "all"), "[1:b:5 2:a:0]")
}

func (k cases) ghosts() {
	k.write("ghosts", `{"user":"a","best":10},{"user":"b","best":5},{"user":"a","best":3},{"user":"b","best":7},{"user":"b","best":7},{"user":"a","best":11}`)
	k.same("board", k.board("ghosts", "all"), "[1:a:11 2:b:7]")
}

func (k cases) removed() {
	k.write("removed", `{"id":"1","user":"a","add":100},{"user":"b","add":7}`)
	k.board("removed", "all") // now in memory
	k.same("outcomes", k.write("removed", `{"user":"a","remove":true},{"user":"a","remove":true},{"id":"1","user":"a","add":100}`), "applied unchanged duplicate")
	for _, season := range []string{"all", "day", "month"} {
		k.same("removed, "+season, k.board("removed", season), "[1:b:7]")
		status, _ := k.do(http.MethodGet, "/v1/boards/removed/users/a/rank?season="+season, "", nil)
		k.same("rank, "+season, status, http.StatusNotFound)
	}
	k.write("removed", `{"user":"a","add":3}`)
	for _, season := range []string{"all", "day", "month"} {
		k.same("made anew, "+season, k.board("removed", season), "[1:b:7 2:a:3]")
	}
}

func (k cases) views() {
	k.write("views", `{"user":"v","set":1000},{"user":"w","set":999}`)
	for range 2 { // read, and from memory
		k.same("one user", k.ask("views/users/v/rank").User, "v")
		k.same("another", k.ask("views/users/w/rank").User, "w")
		k.same("a first row", fmt.Sprint(k.ask("views/top?limit=1").Entries), "[1:v:1000]")
		k.same("two rows", fmt.Sprint(k.ask("views/top?limit=2").Entries), "[1:v:1000 2:w:999]")
		k.same("the second row", fmt.Sprint(k.ask("views/top?limit=1&offset=1").Entries), "[2:w:999]")
		k.same("as precise as asked", k.ask("views/users/v/rank?precision=approx").Precision, "approx")
		k.same("as precise as it can be", k.ask("views/users/v/rank").Precision, "exact")
		k.same("around one", k.ask("views/users/v/around?limit=1").Entries[0].User, "v")
		k.same("around another", k.ask("views/users/w/around?limit=1").Entries[0].User, "w")
	}
}

func (k cases) hidden() {
	k.write("hidden", `{"user":"a","add":9},{"user":"cheat","add":999},{"user":"b","add":5}`)
	k.board("hidden", "all") // now in memory
	k.write("hidden", `{"user":"cheat","hide":true},{"user":"cheat","add":1}`)
	for _, season := range []string{"all", "week"} {
		k.same("hidden, "+season, k.board("hidden", season), "[1:a:9 2:b:5]")
		status, _ := k.do(http.MethodGet, "/v1/boards/hidden/users/cheat/rank?season="+season, "", nil)
		k.same("rank, "+season, status, http.StatusNotFound)
	}
	k.write("hidden", `{"user":"cheat","show":true}`)
	for _, season := range []string{"all", "week"} {
		k.same("shown again, "+season, k.board("hidden", season), "[1:cheat:1000 2:a:9 3:b:5]")
	}
}

func (k cases) pages() {
	var ops, want []string
	for i := range 25 { // ties of five, across every edge of a page of two
		ops = append(ops, fmt.Sprintf(`{"user":"p%02d","set":%d}`, i, 100-i/5))
		want = append(want, fmt.Sprintf("%d:p%02d:%d", i/5*5+1, i, 100-i/5))
	}
	k.write("pages", strings.Join(ops, ","))
	k.same("board", k.board("pages", "all"), fmt.Sprint(want))
	k.same("a later page of the top", fmt.Sprint(k.ask("pages/top?offset=12&limit=4").Entries), fmt.Sprint(want[12:16]))
}

func (k cases) holes() {
	k.write("holes", `{"user":"a","set":1},{"user":"b","set":2}`)
	got := k.batch("holes", "all", `"x"`, `"a"`, `"y"`, `"b"`)
	k.same("batch", fmt.Sprint(got), "[x? 2:a:1 y? 1:b:2]")
	k.same("places", fmt.Sprint(got[1].Place, got[3].Place), "2 1")
}

func (k cases) few() {
	k.same("nobody", k.board("few", "all"), "[]")
	k.write("few", `{"user":"only","set":-3}`)
	k.same("one", k.board("few", "all"), "[1:only:-3]")
	only := k.ask("few/users/only/rank")
	k.same("percentile and tie", fmt.Sprint(only.Percentile, only.Tied), "100 1")
}

func (k cases) zone() {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		k.Fatal(err)
	}
	var board struct {
		Seasons []struct {
			Season   string
			StartsAt time.Time `json:"starts_at"`
			EndsAt   time.Time `json:"ends_at"`
		}
	}
	k.get("/v1/boards/zone", &board)
	day, now := board.Seasons[0], time.Now()
	local := day.StartsAt.In(zone)
	k.same("start of the day", local.Format("15:04:05"), "00:00:00")
	k.same("its name", day.Season, "day:"+local.Format(time.DateOnly))
	k.same("its end", day.EndsAt.Equal(time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, zone)), true)
	k.same("that it is now", day.StartsAt.After(now.Add(time.Second)) || day.EndsAt.Before(now.Add(-time.Second)), false)
	// The last second of the board's yesterday is yesterday's, whatever day it is elsewhere.
	k.write("zone", fmt.Sprintf(`{"user":"a","set":1,"at":%q},{"user":"b","set":2,"at":%q}`,
		day.StartsAt.Add(-time.Second).UTC().Format(time.RFC3339), day.StartsAt.UTC().Format(time.RFC3339)))
	k.same("yesterday", k.board("zone", "day:"+local.AddDate(0, 0, -1).Format(time.DateOnly)), "[1:a:1]")
	k.same("today", k.board("zone", day.Season), "[1:b:2]")
}

func (k cases) late() {
	long := time.Now().UTC().Add(-30 * 24 * time.Hour)
	at := fmt.Sprintf(`"at":%q`, long.Format(time.RFC3339))
	k.write("late", `{"user":"a","add":1}`)
	k.write("late", `{"user":"a","add":100,`+at+`},{"user":"b","add":100,`+at+`}`)
	k.same("a season that is over", k.board("late", "day"), "[1:a:1]")
	status, _ := k.do(http.MethodGet, "/v1/boards/late/top?season=day:"+long.Format(time.DateOnly), "", nil)
	k.same("the season itself", status, http.StatusNotFound)
	k.same("where all takes it", k.write("late-all", `{"user":"a","add":100,`+at+`}`), "applied")
	k.same("all", k.board("late-all", "all"), "[1:a:100]")
	k.same("today", k.board("late-all", "day"), "[]")
}

func (k cases) retry() {
	ops := `{"id":"1","user":"a","add":5},{"id":"2","user":"b","add":4},{"id":"3","user":"a","add":2}`
	k.same("first", k.write("retry", ops), "applied applied applied")
	k.same("again", k.write("retry", ops), "duplicate duplicate duplicate")
	for _, season := range []string{"all", "day", "week", "month"} {
		k.same(season, k.board("retry", season), "[1:a:7 2:b:4]")
	}
}
