package ingest

import (
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

// A run that is not due yet takes in what arrives, until it is large; after a silence it is due at once.
func TestRunsGatherUntilTheyAreDueOrLarge(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	s, b := a.stream, a.board
	p := publish(t, s, b, `{"v":1,"mark":"tick"}`)
	ss, what, err := s.prove(t.Context(), b, p)
	if err != nil || what != found {
		t.Fatal(what, err)
	}
	defer ss.close()
	f := feed{reader: newReader(b, time.Time{}), lookout: lookout{stream: s, board: b.ID}}
	f.pace.Store(int64(time.Minute))
	p = publish(t, s, b, `{"v":1,"mark":"tick"}`)
	item := f.read(t.Context(), ss, p, rankcore.Position{})
	if item.err != nil || item.run == nil || item.run.to != p {
		t.Fatalf("the first run after a silence: %+v", item)
	}
	large := strings.Repeat(" ", maxRunBytes/3)
	for range 4 {
		if _, err := s.js.Publish(t.Context(), subjectOf(b.ID), []byte(`{"v":1,"mark":"tick"}`+large)); err != nil {
			t.Fatal(err)
		}
	}
	// One request of a session of its own brings them all; an older one might end in between.
	later, what, err := s.prove(t.Context(), b, p)
	if err != nil || what != found {
		t.Fatal(what, err)
	}
	defer later.close()
	f.given = time.Now()
	if item = f.read(t.Context(), later, p, rankcore.Position{}); item.err != nil || item.run == nil || len(item.run.names) < 3 {
		t.Fatalf("a run that is not due and not large: %+v", item)
	}
}
