package gateway

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// Whatever the text, it reads back as encoding/json would have it read back.
func TestStringsAreJSON(t *testing.T) {
	check := func(s string) string {
		var got, want string
		encoded := appendString(nil, s)
		if err := json.Unmarshal(encoded, &got); err != nil || !utf8.Valid(encoded) {
			return "not JSON"
		}
		reference, err := json.Marshal(s)
		if err != nil {
			return err.Error()
		}
		if err := json.Unmarshal(reference, &want); err != nil {
			return err.Error()
		}
		if got != want {
			return "read back otherwise"
		}
		return ""
	}
	for _, s := range []string{"", `"`, `\`, `a"b\c`, "\x00\x1f\x7f", "🏆", "\xff", "a\xf0\x9f", "\u2028</script>"} {
		if wrong := check(s); wrong != "" {
			t.Errorf("%q: %s", s, wrong)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if wrong := check(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// A top answer is what encoding/json makes of the same rows.
func TestTopAsReflected(t *testing.T) {
	type entry struct {
		Rank  int64           `json:"rank"`
		User  string          `json:"user"`
		Score json.RawMessage `json:"score"`
	}
	type answer struct {
		Board   string    `json:"board"`
		Season  string    `json:"season"`
		Status  string    `json:"status"`
		Reason  string    `json:"reason,omitempty"`
		AsOf    time.Time `json:"as_of"`
		Version string    `json:"version"`
		Total   int64     `json:"total"`
		Entries []entry   `json:"entries"`
	}
	rapid.Check(t, func(t *rapid.T) {
		b := board("power", func(b *rankcore.Board) { b.Scale = rapid.IntRange(0, 9).Draw(t, "scale") })
		page := rankcore.Page{Meta: rankcore.Meta{
			Season: "all", Status: rankcore.Stale, Reason: rankcore.CoreSlow,
			AsOf:    time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "as of")).UTC(),
			Version: rankcore.Position{Seq: rapid.Uint64().Draw(t, "seq"), Time: 5}, Total: rapid.Int64Range(0, 1e12).Draw(t, "total"),
		}}
		want := answer{"power", "all", "stale", "core_slow", page.AsOf, page.Version.String(), page.Total, []entry{}}
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			e := rankcore.Entry{
				Rank:  rapid.Int64Range(1, 1e12).Draw(t, "rank"),
				User:  rankcore.UserID(rapid.String().Draw(t, "user")),
				Score: rankcore.Score(rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore).Draw(t, "score")),
			}
			score := rankcore.AppendScore(nil, e.Score, b.Scale)
			if b.Scale > 0 {
				score = []byte(`"` + string(score) + `"`)
			}
			page.Entries = append(page.Entries, e)
			want.Entries = append(want.Entries, entry{e.Rank, string(e.User), score})
		}
		var e encoder
		e.top(b, &page)
		var got answer
		strict := json.NewDecoder(bytes.NewReader(e.buf))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&got); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		z, _ := json.Marshal(want)
		if !bytes.Equal(a, z) {
			t.Fatalf("got  %s\nwant %s", a, z)
		}
	})
}
