package rankcore_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

func cursorBoard(id string, change func(*rankcore.Board)) *rankcore.Board {
	b := &rankcore.Board{ID: rankcore.BoardID(id), Shards: 4, Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC}
	if change != nil {
		change(b)
	}
	return b
}

func anyCursor(b *rankcore.Board) *rapid.Generator[rankcore.Cursor] {
	return rapid.Custom(func(rt *rapid.T) rankcore.Cursor {
		c := rankcore.Cursor{Season: rankcore.SeasonID(rapid.SampledFrom([]string{"all", "day:2026-11-30", "month:2026-11"}).Draw(rt, "season"))}
		if rapid.Bool().Draw(rt, "ranged") {
			c.Within = rankcore.Between(anyScore().Draw(rt, "least"), anyScore().Draw(rt, "most"))
		}
		if rapid.Bool().Draw(rt, "begun") {
			user := rapid.SampledFrom([]string{"a", "a/b", "日本", "+ ?&=", strings.Repeat("x", rankcore.MaxUserBytes)}).Draw(rt, "user")
			c.After = rankcore.Place{Score: anyScore().Draw(rt, "score"), User: rankcore.UserID(user)}
			if b.Ties == rankcore.TiesFirst {
				c.After.Arrival = rankcore.Arrival(rapid.Uint64().Draw(rt, "arrival"))
			}
		}
		return c
	})
}

// A cursor comes back as it was, is safe in a URL, and any change of it, or another board, makes it worthless.
func TestCursorsAreTakenAsGivenOrNotAtAll(t *testing.T) {
	boards := []*rankcore.Board{
		cursorBoard("power", nil),
		cursorBoard("power", func(b *rankcore.Board) { b.Ties = rankcore.TiesFirst }),
		cursorBoard("other", nil),
		cursorBoard("power", func(b *rankcore.Board) { b.Order = rankcore.Asc }),
		cursorBoard("power", func(b *rankcore.Board) { b.Scale = 2 }),
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := rapid.SampledFrom(boards).Draw(rt, "board")
		c := anyCursor(b).Draw(rt, "cursor")
		text := c.Encode(b)
		if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(text) > 512 {
			rt.Fatalf("not safe in a URL: %s", text)
		}
		if got, err := rankcore.ParseCursor(b, text); err != nil || got != c {
			rt.Fatalf("got %+v, %v, want %+v", got, err, c)
		}
		for _, other := range boards {
			if got, err := rankcore.ParseCursor(other, text); err == nil && other != b {
				rt.Fatalf("board %+v took %+v", other, got)
			}
		}
		at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
		letter := rapid.SampledFrom([]string{"", "A", "b", "9", "-", "_", "=", "\n", "AA"}).Draw(rt, "letter")
		if altered := text[:at] + letter + text[at+1:]; altered != text {
			if got, err := rankcore.ParseCursor(b, altered); err == nil {
				rt.Fatalf("altered, it is taken as %+v", got)
			}
		}
	})
}

// FuzzCursor: whatever is sent, it is refused or it is exactly what was given out.
func FuzzCursor(f *testing.F) {
	boards := []*rankcore.Board{cursorBoard("power", nil), cursorBoard("power", func(b *rankcore.Board) { b.Ties = rankcore.TiesFirst })}
	f.Add("")
	f.Add("AQNhbGwA")
	for _, c := range []rankcore.Cursor{
		{Season: "all"},
		{Season: "all", After: rankcore.Place{Score: -7, User: "a/b"}},
		{Season: "day:2026-11-30", Within: rankcore.Between(-1, 1<<53-1), After: rankcore.Place{Score: 0, User: "é"}},
	} {
		for _, b := range boards {
			f.Add(c.Encode(b))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, b := range boards {
			c, err := rankcore.ParseCursor(b, text)
			if err != nil {
				if c != (rankcore.Cursor{}) {
					t.Fatalf("%q: refused with %+v", text, c)
				}
				continue
			}
			if again := c.Encode(b); again != text {
				t.Fatalf("%q reads as %+v, which is %q", text, c, again)
			}
			if _, err := rankcore.ParseUserID(string(c.After.User)); !c.After.IsStart() && err != nil {
				t.Fatalf("%q: a user that cannot be", text)
			}
		}
	})
}
