package rankcore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rankgate/rankcore"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func board(changes ...func(*rankcore.Board)) *rankcore.Board {
	b := &rankcore.Board{
		ID: "power", Shards: 16, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC,
		Head: 1000, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
	for _, change := range changes {
		change(b)
	}
	return b
}

func scaled(b *rankcore.Board) { b.Scale = 2 }
func setting(b *rankcore.Board) {
	b.Update = rankcore.UpdateSet
}

func TestOpsAreRead(t *testing.T) {
	at := time.Date(2026, 11, 30, 11, 59, 58, 123e6, time.UTC)
	for _, c := range []struct {
		name string
		b    *rankcore.Board
		body string
		want []rankcore.Op
	}{
		{
			"the contract's example", board(), `{"ops":[{"id":"evt-1","user":"alice","add":5},{"id":"evt-2","user":"bob","set":77,"at":"2026-11-30T11:59:58.123Z"},{"user":"mallory","remove":true}]}`,
			[]rankcore.Op{{ID: "evt-1", User: "alice", Value: 5}, {ID: "evt-2", User: "bob", Kind: rankcore.OpSet, Value: 77, At: at}, {User: "mallory", Kind: rankcore.OpRemove}},
		},
		{"white space and escapes", board(), " {\t\"ops\" : [ { \"user\" : \"a\\u00e9\\ud83d\\ude00\\/\\\"\" , \"add\" : -0 } ] }\n", []rankcore.Op{{User: "aé😀/\""}}},
		{"a zone in at", board(), `{"ops":[{"user":"a","add":1,"at":"2026-11-30T19:59:58.1239+08:00"}]}`, []rankcore.Op{{User: "a", Value: 1, At: at}}},
		{
			"decimals", board(scaled), `{"ops":[{"user":"a","add":"12.34"},{"user":"a","add":12.3},{"user":"a","set":-7}]}`,
			[]rankcore.Op{{User: "a", Value: 1234}, {User: "a", Value: 1230}, {User: "a", Kind: rankcore.OpSet, Value: -700}},
		},
		{
			"the largest scores", board(), `{"ops":[{"user":"a","add":9007199254740991},{"user":"a","add":-9007199254740991}]}`,
			[]rankcore.Op{{User: "a", Value: rankcore.MaxScore}, {User: "a", Value: -rankcore.MaxScore}},
		},
		{
			"hide and show", board(), `{"ops":[{"user":"a","hide":true},{"user":"a","show":true}]}`,
			[]rankcore.Op{{User: "a", Kind: rankcore.OpHide}, {User: "a", Kind: rankcore.OpShow}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := rankcore.ParseOps(c.b, []byte(c.body), now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadOpsAreRefusedByIndex(t *testing.T) {
	for _, c := range []struct{ name, op, detail string }{
		{"beyond the range", `{"user":"a","add":9007199254740992}`, "beyond"},
		{"far beyond the range", `{"user":"a","add":-123456789012345678901234567890}`, "beyond"},
		{"a fraction", `{"user":"a","add":1.5}`, "not an integer"},
		{"a whole fraction", `{"user":"a","add":1.0}`, "not an integer"},
		{"an exponent", `{"user":"a","add":1e3}`, "plain decimal"},
		{"a string", `{"user":"a","add":"5"}`, "want an integer"},
		{"null", `{"user":"a","add":null}`, "want an integer"},
		{"an object", `{"user":"a","add":{"x":[1,{}]}}`, "want an integer"},
		{"no user", `{"add":5}`, "user is missing"},
		{"an empty user", `{"user":"","add":5}`, "user"},
		{"a dot", `{"user":"..","add":5}`, "user"},
		{"a control character", `{"user":"a\u0000","add":5}`, "user"},
		{"a C1 control character", `{"user":"a\u0085","add":5}`, "user"},
		{"a long user", `{"user":"` + strings.Repeat("x", 257) + `","add":5}`, "user"},
		{"a number as user", `{"user":7,"add":5}`, "strings"},
		{"an empty id", `{"id":"","user":"a","add":5}`, "id"},
		{"a long id", `{"id":"` + strings.Repeat("x", 65) + `","user":"a","add":5}`, "id"},
		{"no action", `{"user":"a"}`, "exactly one"},
		{"two actions", `{"user":"a","add":1,"set":2}`, "exactly one"},
		{"an action twice", `{"user":"a","add":1,"add":2}`, "twice"},
		{"a user twice", `{"user":"a","user":"b","add":2}`, "twice"},
		{"another board's update", `{"user":"a","best":1}`, `"add"`},
		{"an unknown field", `{"user":"a","add":1,"bonus":[1,{"x":null}]}`, "unknown field"},
		{"other case", `{"User":"a","add":1}`, "unknown field"},
		{"remove false", `{"user":"a","remove":false}`, "want true"},
		{"a bad time", `{"user":"a","add":1,"at":"yesterday"}`, "RFC 3339"},
		{"one digit for the hour", `{"user":"a","add":1,"at":"2026-11-30T1:59:58Z"}`, "RFC 3339"},
		{"a decimal comma", `{"user":"a","add":1,"at":"2026-11-30T11:59:58,5Z"}`, "RFC 3339"},
		{"before 1970 only in UTC", `{"user":"a","add":1,"at":"1970-01-01T00:00:00+05:00"}`, "1970"},
		{"too far ahead", `{"user":"a","add":1,"at":"2026-12-01T12:00:01Z"}`, "24 hours"},
		{"not an object", `5`, "object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rankcore.ParseOps(board(), []byte(`{"ops":[{"user":"ok","add":1},`+c.op+`]}`), now)
			var bad rankcore.OpErrors
			if !errors.As(err, &bad) || len(bad) != 1 || bad[0].Index != 1 || !strings.Contains(bad[0].Detail, c.detail) {
				t.Errorf("got %v, want index 1: %s", err, c.detail)
			}
		})
	}
}

func TestBadBodiesAreRefused(t *testing.T) {
	many := `{"ops":[` + strings.Repeat(`{"user":"a","add":1},`, 1000) + `{"user":"a","add":1}]}`
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `{"ops":[]}`, `{"ops":{}}`, `{"ops":[{"user":"a","add":1}]`, `{"ops":[{"user":"a","add":1}]}x`,
		`{"ops":[{"user":"a","add":1}],"ops":[]}`, `{"ops":[{"user":"a","add":1}],"more":1}`, `{"v":1,"ops":[{"user":"a","add":1}]}`,
		`{"ops":[{"user":"a","add":NaN}]}`, `{"ops":[{"user":"a","add":01}]}`, `{"ops":[{"user":"a","add":+1}]}`, `{"ops":[{"user":"a","add":1},]}`,
		`{"ops":[{"user":"\ud800","add":1}]}`, "{\"ops\":[{\"user\":\"\xff\",\"add\":1}]}", "{\"ops\":[{\"user\":\"a\x01\",\"add\":1}]}", "\ufeff" + `{"ops":[{"user":"a","add":1}]}`,
		`{"ops":[` + strings.Repeat("[", 100000), `{"mark":"tick"}`, many,
	} {
		_, err := rankcore.ParseOps(board(), []byte(body), now)
		var whole *rankcore.BodyError
		if !errors.As(err, &whole) {
			t.Errorf("%.60q: got %v, want a BodyError", body, err)
		}
	}
}

func TestABadBodyIsToldWhereItGoesWrong(t *testing.T) {
	for body, from := range map[string]string{
		``: "byte 0", `[]`: "byte 0", `{"ops":{}}`: "byte 7", `{"ops":[{"user":"a","add":1}],`: "byte 30", `{ "ops":[]} x`: "byte 12",
	} {
		if _, err := rankcore.ParseOps(board(), []byte(body), now); !strings.Contains(err.Error(), from) || !strings.Contains(err.Error(), `{"ops":[...]}`) {
			t.Errorf("%s: %v, want %s", body, err, from)
		}
	}
}

func TestMessagesAreRead(t *testing.T) {
	b := board()
	good := rankcore.AppendMessage(nil, b, []rankcore.Op{{User: "a", Value: 1}, {ID: "x", User: "b", Value: 2}})
	m, err := rankcore.ParseMessage(b, good, "msg", now)
	if err != nil || m.Ops[0].ID != "msg#0" || m.Ops[1].ID != "x" {
		t.Errorf("ids: got %+v, %v", m.Ops, err)
	}
	m, err = rankcore.ParseMessage(b, []byte(`{"v":1,"ops":[{"user":"a","add":1},{"user":"a","best":1}]}`), "", now)
	if err != nil || len(m.Ops) != 1 || len(m.Bad) != 1 || m.Bad[0].Index != 1 {
		t.Errorf("one bad operation: got %+v, %v", m, err)
	}
	for _, mark := range []rankcore.Message{
		{Mark: rankcore.MarkTick},
		{Mark: rankcore.MarkProbe, Nonce: "n\"1"},
		{Mark: rankcore.MarkLost, Gone: rankcore.Position{Seq: 7, Time: now.UnixNano()}},
	} {
		got, err := rankcore.ParseMessage(b, rankcore.AppendMark(nil, mark), "", now)
		if diff := cmp.Diff(mark, got); diff != "" || err != nil {
			t.Errorf("mark: %v %s", err, diff)
		}
	}
	for _, payload := range []string{"", "garbage", `{"ops":[{"user":"a","add":1}]}`, `{"v":2,"ops":[{"user":"a","add":1}]}`, `{"v":1,"mark":"other"}`, `{"v":1}`} {
		if _, err := rankcore.ParseMessage(b, []byte(payload), "", now); err == nil {
			t.Errorf("%q was taken", payload)
		}
	}
}

// What a gateway takes by its own clock counts, also when the log's server is behind it.
func TestWhatIsAcceptedIsApplied(t *testing.T) {
	b := board()
	for _, at := range []string{"1970-01-01T00:00:00Z", "1970-01-01T05:00:00+05:00", "2026-12-01T12:00:00Z", "2026-12-02T01:59:59.999+14:00"} {
		ops, err := rankcore.ParseOps(b, []byte(`{"ops":[{"user":"a","add":1,"at":"`+at+`"}]}`), now)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		m, err := rankcore.ParseMessage(b, rankcore.AppendMessage(nil, b, ops), "", now.Add(-time.Minute))
		if err != nil || len(m.Ops) != 1 || len(m.Bad) != 0 {
			t.Errorf("%s in the log: %+v, %v", at, m, err)
		}
	}
}

func anyOp(b *rankcore.Board) *rapid.Generator[rankcore.Op] {
	kinds := []rankcore.OpKind{rankcore.OpAdd, rankcore.OpSet, rankcore.OpRemove, rankcore.OpHide, rankcore.OpShow}
	if b.Update == rankcore.UpdateSet {
		kinds = kinds[1:]
	}
	return rapid.Custom(func(t *rapid.T) rankcore.Op {
		op := rankcore.Op{
			ID:   rapid.StringN(0, 16, 64).Draw(t, "id"),
			User: rankcore.UserID(rapid.StringN(1, 64, 256).Filter(func(s string) bool { _, err := rankcore.ParseUserID(s); return err == nil }).Draw(t, "user")),
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
		}
		if op.Kind.HasValue() {
			op.Value = rankcore.Score(rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore).Draw(t, "value"))
		}
		if rapid.Bool().Draw(t, "dated") {
			op.At = time.UnixMilli(rapid.Int64Range(0, now.UnixMilli()).Draw(t, "at")).UTC()
		}
		return op
	})
}

func TestMessagesSurviveTheLog(t *testing.T) {
	for _, b := range []*rankcore.Board{board(), board(scaled), board(setting)} {
		rapid.Check(t, func(rt *rapid.T) {
			ops := rapid.SliceOfN(anyOp(b), 1, 20).Draw(rt, "ops")
			payload := rankcore.AppendMessage(nil, b, ops)
			if !json.Valid(payload) {
				rt.Fatalf("not JSON: %s", payload)
			}
			m, err := rankcore.ParseMessage(b, payload, "", now)
			if err != nil || len(m.Bad) > 0 {
				rt.Fatalf("%v %v: %s", err, m.Bad, payload)
			}
			if diff := cmp.Diff(ops, m.Ops); diff != "" {
				rt.Fatal(diff)
			}
		})
	}
}

// FuzzParseOps holds the parser against encoding/json: whatever it takes is JSON, and survives the log.
func FuzzParseOps(f *testing.F) {
	f.Add([]byte(`{"ops":[{"id":"evt-1","user":"alice","add":5},{"user":"b","set":7,"at":"2026-11-30T11:59:58Z"}]}`))
	f.Add([]byte(`{"ops":[{"user":"a\u00e9\ud83d\ude00","hide":true,"x":[{"y":null}]}]}`))
	b := board()
	f.Fuzz(func(t *testing.T, body []byte) {
		ops, err := rankcore.ParseOps(b, body, now)
		var whole *rankcore.BodyError
		if errors.As(err, &whole) {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("taken, but not JSON: %q", body)
		}
		if err != nil {
			return
		}
		m, err := rankcore.ParseMessage(b, rankcore.AppendMessage(nil, b, ops), "", now)
		if diff := cmp.Diff(ops, m.Ops); err != nil || diff != "" {
			t.Fatalf("lost in the log: %v %s", err, diff)
		}
	})
}

func BenchmarkParseMessage(b *testing.B) {
	brd := board()
	ops := make([]rankcore.Op, 500)
	for i := range ops {
		ops[i] = rankcore.Op{ID: fmt.Sprintf("evt-%09d", i), User: rankcore.UserID(fmt.Sprintf("user-%07d", i*7)), Value: rankcore.Score(i)}
	}
	payload := rankcore.AppendMessage(nil, brd, ops)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rankcore.ParseMessage(brd, payload, "", now); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ops)), "ns/operation")
}
