package verify

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	good = `{"shard":0,"members":3,"segments":2,"drift":[]}` + "\n"
	bad  = `{"shard":1,"members":3,"segments":2,"drift":[{"kind":"segments","season":"all","recorded":4,"counted":5,"detail":"1 segment","repaired":false}]}` + "\n"
	gone = `{"shard":2,"members":0,"segments":0,"drift":[],"error":"no answer"}` + "\n"
)

// Whatever the server answers, the findings of the lines that came are kept, and only a last line makes it a success.
func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		answer string
		found  int
		err    string // of Ask, or else of the verdict
	}{
		"no drift":    {200, good + `{"done":true,"shards":1}`, 1, ""},
		"drift":       {200, good + bad + `{"done":true,"shards":2,"findings":1,"repaired":0}`, 2, "1 findings of drift, 0 of them repaired"},
		"repaired":    {200, bad + `{"done":true,"shards":1,"findings":1,"repaired":1}`, 1, "all repaired"},
		"no answer":   {200, good + gone + `{"done":true,"shards":1,"failed":1}`, 2, "1 shards could not be audited"},
		"ended early": {200, good + `{"done":false,"shards":1,"detail":"the log could not be asked"}`, 1, "not every shard was audited: the log"},
		"cut off":     {200, good + bad, 2, "cut off"},
		"cut in two":  {200, good + bad[:20], 1, "cut off"},
		"not JSON":    {200, "<html>", 0, "cut off"},
		"not a line":  {200, `[1]`, 0, "not understood"},
		"refused":     {401, `{"title":"Service credentials are needed"}`, 0, "401 Service credentials are needed; give a service key"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.String() != "/v1/boards/power/verify?repair=true" || r.Header.Get("Authorization") != "Bearer key" {
					t.Errorf("asked %s %s, %q", r.Method, r.URL, r.Header)
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.answer)
			}))
			defer server.Close()
			var found []Finding
			v, err := Ask(t.Context(), Options{Server: server.URL, Board: "power", Key: "key", Repair: true}, func(f Finding) { found = append(found, f) })
			if err == nil {
				err = v.Err()
			}
			if len(found) != c.found || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d findings, %v; want %d, %q", len(found), err, c.found, c.err)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	found := []Finding{
		{Shard: new(9), Error: "no answer"},
		{Shard: new(10), Error: "no answer"},
		{Shard: new(8), Error: "no answer"},
		{Shard: new(12), Error: "no answer"},
		{Shard: new(3)},
		{Shard: new(2), Drift: []Drift{{Kind: "behind", Recorded: 7, Counted: 9, Detail: "late"}, {Kind: "segments", Season: "all", Counted: 1, Repaired: true}}},
		{Drift: []Drift{{Kind: "index", Season: "all", Recorded: 4, Counted: 5, Detail: "more"}}},
	}
	if err := WriteTable(&out, found); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SHARD DRIFT SEASON RECORDED COUNTED STATE DETAIL", "all index all 4 5 found more", "2 behind - 7 9 found late", "2 segments all 0 1 repaired", "8-10 - - - - not audited no answer", "12 - - - - not audited no answer",
	}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if got := strings.Join(strings.Fields(line), " "); i >= len(want) || got != want[i] {
			t.Errorf("line %d: %q", i, got)
		}
	}
	out.Reset()
	if err := WriteTable(&out, found[4:5]); err != nil || out.Len() > 0 {
		t.Errorf("a table of nothing: %q, %v", &out, err)
	}
}
