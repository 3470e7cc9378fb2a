package importer

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rankgate/rankcore"
)

// notation is the rows as "user:score", in the order read, by the board's own spelling of scores.
func notation(r *Rows) string {
	var b strings.Builder
	for _, row := range r.rows {
		fmt.Fprintf(&b, "%s:%s ", row.user, rankcore.AppendScore(nil, row.score, r.scale))
	}
	return strings.TrimSuffix(b.String(), " ")
}

func TestFormatsAreToldByContent(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		scale int
		want  string
	}{
		"csv":                        {"abe,3\nzoe,-4\n", 0, "abe:3 zoe:-4"},
		"csv without a last newline": {"abe,3\r\nzoe,4", 0, "abe:3 zoe:4"},
		"csv with a header":          {"user,score\nabe,3\n", 0, "abe:3"},
		"csv with named columns":     {"rank,User, Score\n1,abe,3\n2,zoe,2\n", 0, "abe:3 zoe:2"},
		"csv with quotes":            {"\"a,\"\"b\nc\", 3\nzoe,2", 0, ""},
		"csv keeps spaces of users":  {" abe ,3", 0, " abe :3"},
		"csv with a byte order mark": {"\ufeffabe,3\n", 0, "abe:3"},
		"decimals":                   {"abe,3.5\nzoe,4\n", 2, "abe:3.50 zoe:4.00"},
		"ndjson":                     {`{"user":"abe","score":3}` + "\n\n" + ` { "score" : 4 , "user" : "zoe" } ` + "\n", 0, "abe:3 zoe:4"},
		"ndjson of one row":          {`{"user":"abe","score":3}`, 0, "abe:3"},
		"ndjson as export writes it": {`{"rank":1,"user":"abe","score":"3.10"}`, 1, "error"},
		"ndjson decimals as text":    {`{"rank":1,"user":"abe","score":"3.1"}`, 2, "abe:3.10"},
		"ndjson with escapes":        {`{"user":"\u00e9\"\\\/\ud83d\ude00","score":3}`, 0, `é"\/😀:3`},
		"object":                     {`{"abe":3,"zoe":-4}`, 0, "abe:3 zoe:-4"},
		"object over lines":          {"{\n  \"abe\": 3,\n  \"@z/o.e~\": 4\n}\n", 0, "abe:3 @z/o.e~:4"},
		"object, a user called user": {`{"user":5,"score":6}`, 0, "user:5 score:6"},
		"object, decimals as text":   {`{"abe":"3.1"}`, 2, "abe:3.10"},
		"object, quotes in names":    {`{"a\"b\\":1,"c\\\"":2}`, 0, `a"b\:1 c\":2`},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := Read(strings.NewReader(c.text), Options{Scale: c.scale})
			switch {
			case c.want == "error" || c.want == "":
				if err == nil {
					t.Errorf("read %s, want an error", notation(rows))
				}
			case err != nil:
				t.Errorf("Read: %v", err)
			case notation(rows) != c.want:
				t.Errorf("read %s, want %s", notation(rows), c.want)
			}
		})
	}
}

func TestGzipIsUnpacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, "abe,3\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadFile("-", &packed, Options{})
	if err != nil || notation(rows) != "abe:3" {
		t.Errorf("Read = %v, %v", rows, err)
	}
}

func TestBadRowIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want, skipped string }{
		"csv score":        {"a,1\nb,x\nc,3", "line 2: score: not a plain decimal number", "a:1 c:3"},
		"csv fraction":     {"a,1\nb,1.5", "line 2: score: not an integer", "a:1"},
		"csv range":        {"a,9007199254740991\nb,9007199254740992", "line 2: score: beyond", "a:9007199254740991"},
		"csv exponent":     {"a,1e3\nb,2", "line 1: score: not a plain", "b:2"},
		"csv NaN":          {"a,NaN\nb,2", "line 1: score: not a plain", "b:2"},
		"csv fields":       {"a,1\nb\nc,2,3\nd,4", "line 2: 1 fields, want 2", "a:1 d:4"},
		"csv quote":        {"a,1\nb\"b,2\nc,3", "line 2: bare", "a:1 c:3"},
		"csv user":         {"a,1\n..,2", "line 2: a user id is", "a:1"},
		"csv twice":        {"a,1\nb,2\na,1", "line 3: the same user as on line 1", "a:1 b:2"},
		"ndjson field":     {`{"user":"a","score":1}` + "\n" + `{"user":"b","score":1,"x":1}`, "line 2: want {", "a:1"},
		"ndjson twice":     {`{"user":"a","score":1}` + "\n" + `{"user":"b","user":"c","score":1}`, "line 2: want {", "a:1"},
		"ndjson broken":    {`{"user":"a","score":1}` + "\n" + `{"user":"b","sco`, "line 2: not valid JSON", "a:1"},
		"ndjson first":     {`{"user":"b"}` + "\n" + `{"user":"a","score":1}`, "line 1: want {", "a:1"},
		"ndjson surrogate": {`{"user":"a","score":1}` + "\n" + `{"user":"\ud800","score":1}`, "line 2: an escape that is half", "a:1"},
		"object score":     {"{\"a\":1,\n\"b\":null,\"c\":3}", "line 2, entry 2: score: want a number", "a:1 c:3"},
		"object twice":     {`{"a":1,"b":2,"a":3}`, "line 1, entry 3: the same user as on line 1, entry 1", "a:1 b:2"},
		"object cut":       {`{"a":1,"b":`, "line 1, entry 2: not valid JSON", "error"},
		"object nested":    {`{"a":1,"b":{"c":1}}`, "line 1, entry 2: score: want a number", "error"},
		"object tail":      {`{"a":1} {`, "line 1: something stands after", "error"},
		"array":            {"[\n {\"user\":\"a\",\"score\":1}]", "a JSON array is not read", "error"},
		"nothing":          {"", "there are no rows", "error"},
		"bytes":            {"a,1\n\xff\xfe,2", "line 2: a user id is", "a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), Options{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("Read: %v, want %q", err, c.want)
			}
			rows, err := Read(strings.NewReader(c.text), Options{SkipBad: true})
			if c.skipped == "error" {
				if err == nil {
					t.Errorf("skipping, read %s, want an error", notation(rows))
				}
				return
			}
			if err != nil || notation(rows) != c.skipped {
				t.Fatalf("skipping: %v, %v, want %s", rows, err, c.skipped)
			}
			if n, first := rows.Skipped(); n == 0 || !strings.HasPrefix(first.Error(), c.want) {
				t.Errorf("skipped %d, first %v", n, first)
			}
		})
	}
}

func TestSameRowsAreTheSameFile(t *testing.T) {
	id := func(text string) string {
		rows, err := Read(strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return rows.opID()
	}
	one := id("a,1\nb,2")
	if two := id(`{"b":2,"a":1}`); one != two {
		t.Errorf("ids %s and %s for the same rows", one, two)
	}
	if other := id("a,2\nb,1"); one == other {
		t.Errorf("id %s for different rows", one)
	}
	if len(one) > rankcore.MaxOpIDBytes {
		t.Errorf("id of %d bytes", len(one))
	}
}

func TestBestRowsComeFirst(t *testing.T) {
	rows, err := Read(strings.NewReader("a,1\nb,3\nc,-2"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows.sort(rankcore.Desc); notation(rows) != "b:3 a:1 c:-2" {
		t.Errorf("desc: %s", notation(rows))
	}
	if rows.sort(rankcore.Asc); notation(rows) != "c:-2 a:1 b:3" {
		t.Errorf("asc: %s", notation(rows))
	}
}

// FuzzRead holds the stream reader against encoding/json: what both take as an object of scores, they must
// read alike; and whatever the bytes, a bad row is an error and never a panic or an endless loop.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a,1", `{"a":1,"b":-2}`, `{"user":"a","score":1}`, `{"a\"\\":1}`, "user,score\n\"x\",1", "{\"a\":1}\n{", "\x1f\x8b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := Read(bytes.NewReader(text), Options{})
		if _, skipErr := Read(bytes.NewReader(text), Options{SkipBad: true}); err == nil && skipErr != nil {
			t.Fatalf("good rows are read, and not when bad ones are skipped: %v", skipErr)
		}
		var want map[string]int64
		if err != nil || json.Unmarshal(text, &want) != nil || looksLikeRows(text) {
			return
		}
		got := map[string]int64{}
		for _, row := range rows.rows {
			got[string(row.user)] = int64(row.score)
		}
		if !maps.Equal(got, want) {
			t.Errorf("read %v, want %v", slices.Sorted(maps.Keys(got)), want)
		}
	})
}
