package aggregate

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// Whatever a row has, it has on the other side.
func TestRowsCross(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entry := rapid.Custom(func(rt *rapid.T) (e rankcore.Entry) {
			for i := range reflect.TypeFor[rankcore.Entry]().NumField() {
				switch field := reflect.ValueOf(&e).Elem().Field(i); field.Kind() {
				case reflect.String:
					field.SetString(rapid.StringN(1, 64, 256).Draw(rt, "name"))
				case reflect.Uint64:
					field.SetUint(rapid.Uint64().Draw(rt, "number"))
				default:
					field.SetInt(rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore).Draw(rt, "number"))
				}
			}
			return e
		})
		want := head{
			sharing: rapid.Int64Range(1, maxAskers).Draw(rt, "sharing"),
			age:     time.Duration(rapid.Int64().Draw(rt, "age")),
			behind:  time.Duration(rapid.Int64().Draw(rt, "behind")),
			took:    time.Duration(rapid.Int64().Draw(rt, "took")),
			version: rankcore.Position{Seq: rapid.Uint64().Draw(rt, "seq"), Time: rapid.Int64().Draw(rt, "time")},
			total:   rapid.Int64Range(0, 1e9).Draw(rt, "total"),
			entries: rapid.SliceOfN(entry, 1, 20).Draw(rt, "entries"),
		}
		var rows []byte
		for _, e := range want.entries {
			rows = appendRow(rows, e)
		}
		whole := encodeHead(nil, want, len(want.entries), rows)
		got, err := decodeHead(whole)
		if err != nil || !reflect.DeepEqual(got, want) {
			rt.Fatalf("%+v, %v, want %+v", got, err, want)
		}
		cut := rapid.IntRange(0, len(whole)-1).Draw(rt, "cut")
		if _, err := decodeHead(whole[:cut]); err == nil {
			rt.Fatalf("%d of %d bytes are an answer", cut, len(whole))
		}
	})
}

func FuzzDecodeHead(f *testing.F) {
	f.Add(encodeHead(nil, head{total: 1, sharing: 1}, 1, appendRow(nil, rankcore.Entry{Rank: 1, User: "ann", Score: 7})))
	f.Add([]byte{version, refused})
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if h, err := decodeHead(data); err == nil && h.total < 0 || !bytes.Equal(before, data) {
			t.Errorf("%x", data)
		}
	})
}

func TestRefusalsAndGarbageAreNoAnswers(t *testing.T) {
	if _, err := decodeHead([]byte{version, refused}); !errors.Is(err, errRefused) {
		t.Errorf("a refusal: %v", err)
	}
	for _, data := range [][]byte{nil, {version}, {version + 1, answered}, {version, answered}, []byte("{}")} {
		if _, err := decodeHead(data); err == nil {
			t.Errorf("%q is an answer", data)
		}
	}
	for _, question := range []string{"", "{}", `{"v":2,"season":"all"}`, `{"v":1,"rows":-1}`, `{"v":1,"within_ns":-1}`, "[]"} {
		if _, err := decodeRequest([]byte(question)); err == nil {
			t.Errorf("%q is a question", question)
		}
	}
}
