package exporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve answers the n-th request with the n-th answer: a status and a body.
func serve(t *testing.T, answers ...string) (server string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := min(len(*asked), len(answers)-1)
		*asked = append(*asked, r.URL.RequestURI())
		code, body, _ := strings.Cut(answers[n], " ")
		status, _ := strconv.Atoi(code)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// A server that is away for a while, or updating, costs time only: the walk goes on where it stood.
func TestWalkGoesOnWhereItStood(t *testing.T) {
	server, asked := serve(t,
		`200 {"status":"updating","reason":"core_down","entries":[],"next_cursor":"start"}`,
		`200 {"status":"fresh","entries":[{"rank":1,"user":"a","score":9}],"next_cursor":"one"}`,
		`503 {"title":"Not now"}`,
		`200 {"status":"stale","reason":"log_unreachable","entries":[{"rank":2,"user":"<b>","score":"8.50"}]}`)
	var out bytes.Buffer
	w, err := NewWriter(&out, "ndjson")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Walk(t.Context(), Options{Server: server, Board: "power", Season: "day", Patience: time.Minute}, w.Write)
	if err != nil || sum != (Summary{2, 1, "log_unreachable"}) {
		t.Fatalf("%+v, %v", sum, err)
	}
	if err := w.Flush(); err != nil || out.String() != `{"rank":1,"user":"a","score":9}`+"\n"+`{"rank":2,"user":"<b>","score":"8.50"}`+"\n" {
		t.Errorf("%v\n%s", err, &out)
	}
	first, second := "/v1/boards/power/entries?limit=1000&season=day", "/v1/boards/power/entries?cursor=one&limit=1000"
	if got, want := fmt.Sprint(*asked), fmt.Sprint([]string{first, first, second, second}); got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
}

func TestWalkEnds(t *testing.T) {
	each := func(Row) error { return nil }
	updating := `200 {"status":"updating","reason":"core_down","entries":[]}`
	for name, c := range map[string]struct{ answer, want string }{
		"refused":        {`404 {"title":"There is no such board"}`, "404 There is no such board"},
		"not a rankgate": {`200 <html>`, "is not a rankgate"},
		"another JSON":   {`200 {}`, "is not a rankgate"},
		"updating on":    {updating, "updating, because of core_down"},
	} {
		server, _ := serve(t, c.answer)
		if _, err := Walk(t.Context(), Options{Server: server, Board: "power"}, each); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	server, _ := serve(t, updating)
	ctx, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer leave()
	if _, err := Walk(ctx, Options{Server: server, Board: "power", Patience: time.Hour}, each); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("left: %v", err)
	}
	full := errors.New("the disk is full")
	server, _ = serve(t, `200 {"status":"fresh","entries":[{"rank":1,"user":"a","score":9}]}`)
	if sum, err := Walk(t.Context(), Options{Server: server, Board: "power"}, func(Row) error { return full }); !errors.Is(err, full) || sum.Rows != 0 {
		t.Errorf("full: %+v, %v", sum, err)
	}
}
