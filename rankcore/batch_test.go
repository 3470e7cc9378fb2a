package rankcore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rankgate/rankcore"
)

func TestUsersOfABatch(t *testing.T) {
	got, err := rankcore.ParseUsers([]byte(` {"users" : ["b","a","b","\u00e9/ "]} `))
	if err != nil || !slices.Equal(got, []rankcore.UserID{"b", "a", "b", "é/ "}) {
		t.Errorf("got %q, %v", got, err)
	}
	most := `"u"` + strings.Repeat(`,"u"`, rankcore.MaxUsers-1)
	if got, err := rankcore.ParseUsers([]byte(`{"users":[` + most + `]}`)); err != nil || len(got) != rankcore.MaxUsers {
		t.Errorf("the most: %d, %v", len(got), err)
	}
	for name, body := range map[string]string{
		"nothing": ``, "no users": `{}`, "empty": `{"users":[]}`, "not a list": `{"users":"a"}`, "a number": `{"users":[1]}`,
		"null": `{"users":[null]}`, "an unknown field": `{"users":["a"],"x":1}`, "twice": `{"users":["a"],"users":["a"]}`,
		"too many": `{"users":[` + most + `,"u"]}`, "an empty id": `{"users":[""]}`, "dots": `{"users":[".."]}`, "control": `{"users":["\u0000"]}`,
		"long": `{"users":["` + strings.Repeat("x", 257) + `"]}`, "more behind": `{"users":["a"]}{}`, "zero behind": "{\"users\":[\"a\"]}\x00",
		"not UTF-8": "{\"users\":[\"\xff\"]}", "cut off": `{"users":["a"`, "nested": strings.Repeat(`{"users":[`, 1000),
	} {
		var wrong *rankcore.BodyError
		if got, err := rankcore.ParseUsers([]byte(body)); !errors.As(err, &wrong) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Places count different users, so that asking twice for somebody pushes nobody down; ties share one.
func TestPlacesAmongThoseAsked(t *testing.T) {
	of := func(u string, s rankcore.Score) *rankcore.Standing {
		return &rankcore.Standing{User: rankcore.UserID(u), Score: s}
	}
	batch := rankcore.Standings{Users: []*rankcore.Standing{of("c", 1), nil, of("a", 9), of("b", 5), of("a", 9), of("d", 5)}}
	for o, want := range map[rankcore.Order]string{rankcore.Desc: "[4 0 1 2 1 2]", rankcore.Asc: "[1 0 4 2 4 2]"} {
		if got := fmt.Sprint(batch.Places(&rankcore.Board{Order: o})); got != want {
			t.Errorf("%v: %s, want %s", o, got, want)
		}
	}
}

func TestWithLeavesTheBatchAlone(t *testing.T) {
	batch := &rankcore.Standings{Meta: rankcore.Meta{Status: rankcore.Fresh}, Users: []*rankcore.Standing{{User: "a"}, nil}}
	stale := batch.With(rankcore.Meta{Status: rankcore.Stale})
	if batch.Status != rankcore.Fresh || batch.Users[0].Status != "" || stale.Users[0].Status != rankcore.Stale || stale.Users[1] != nil {
		t.Errorf("%+v, %+v", batch, stale)
	}
}
