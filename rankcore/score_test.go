package rankcore_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

func TestScoresAreReadAndWritten(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
		want  rankcore.Score
		again string
	}{
		{"0", 0, 0, "0"},
		{"-0", 0, 0, "0"},
		{"42", 0, 42, "42"},
		{"-42", 0, -42, "-42"},
		{"9007199254740991", 0, rankcore.MaxScore, "9007199254740991"},
		{"-9007199254740991", 0, -rankcore.MaxScore, "-9007199254740991"},
		{"12.34", 2, 1234, "12.34"},
		{"12.3", 2, 1230, "12.30"},
		{"12", 2, 1200, "12.00"},
		{"-0.01", 2, -1, "-0.01"},
		{"0.05", 2, 5, "0.05"},
		{"9007199.254740991", 9, rankcore.MaxScore, "9007199.254740991"},
	} {
		got, err := rankcore.ParseScore(c.text, c.scale)
		if err != nil || got != c.want {
			t.Errorf("%q at scale %d: got %d, %v, want %d", c.text, c.scale, got, err, c.want)
		}
		if again := string(rankcore.AppendScore(nil, got, c.scale)); again != c.again {
			t.Errorf("%q at scale %d: written %q, want %q", c.text, c.scale, again, c.again)
		}
	}
}

func TestBadScoresAreRefused(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
	}{
		{"", 0},
		{"-", 0},
		{"+1", 0},
		{"01", 0},
		{"1.0", 0},
		{"1e3", 0},
		{"0x10", 0},
		{"NaN", 0},
		{"inf", 0},
		{" 1", 0},
		{"1 ", 0},
		{"--1", 0},
		{"1_000", 0},
		{"9007199254740992", 0},
		{"-9007199254740992", 0},
		{"99999999999999999999999999", 0},
		{"90071992547409.92", 2},
		{"90071992547410", 2},
		{"1.", 2},
		{".5", 2},
		{"1.234", 2},
		{"1.-3", 2},
		{"1.2.3", 2},
		{"٣", 0},
	} {
		if got, err := rankcore.ParseScore(c.text, c.scale); err == nil {
			t.Errorf("%q at scale %d was taken as %d", c.text, c.scale, got)
		}
	}
}

func TestScoresSurviveTheirText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rankcore.Score(rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore).Draw(rt, "score"))
		scale := rapid.IntRange(0, rankcore.MaxScale).Draw(rt, "scale")
		text := string(rankcore.AppendScore(nil, s, scale))
		if got, err := rankcore.ParseScore(text, scale); err != nil || got != s {
			rt.Fatalf("%d at scale %d: %q read as %d, %v", s, scale, text, got, err)
		}
	})
}

func FuzzParseScore(f *testing.F) {
	for _, s := range []string{"0", "-0", "9007199254740991", "12.34", "1e9", "٣"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, text string, scale int) {
		scale = min(max(scale, 0), rankcore.MaxScale)
		s, err := rankcore.ParseScore(text, scale)
		if err != nil {
			return
		}
		if !s.InRange() {
			t.Fatalf("%q taken as %d", text, s)
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			t.Fatalf("%q taken, but no number: %v", text, err)
		}
	})
}
