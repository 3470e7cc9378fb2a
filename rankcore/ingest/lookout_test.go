package ingest

import (
	"errors"
	"testing"
	"time"

	"rankgate/rankcore"
)

// A feed that is always a message behind has still had everything there was a moment ago.
func TestCaughtUpIsKnownUnderLoad(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	o := lookout{stream: a.stream, board: a.board.ID}
	first := publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	second := publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	item := fed{run: &run{}}
	if err := o.report(t.Context(), &item, first); err != nil || item.end || !item.asOf.IsZero() {
		t.Fatalf("one message behind: %+v %v", item, err)
	}
	looked := time.Now()
	third := publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	item = fed{run: &run{}}
	o.looked = time.Now().Add(time.Hour) // not to be asked again
	if err := o.report(t.Context(), &item, second); err != nil || item.end || item.asOf.IsZero() || item.asOf.After(looked) {
		t.Errorf("having read what was the newest: %+v %v, want the moment of the look", item, err)
	}
	item = fed{} // idle: it is asked at once
	if err := o.report(t.Context(), &item, third); err != nil || !item.end || item.asOf.Before(looked) {
		t.Errorf("having read all: %+v %v", item, err)
	}
}

// A session that has nothing while the log has more is not believed for ever.
func TestStalledSessionEnds(t *testing.T) {
	_, a, _ := applierOn(t, 1)
	o := lookout{stream: a.stream, board: a.board.ID}
	publish(t, a.stream, a.board, `{"v":1,"mark":"tick"}`)
	var err error
	for i := 0; err == nil && i <= 2*maxStalled; i++ {
		var item fed
		if err = o.report(t.Context(), &item, rankcore.Position{}); item.end || !item.asOf.IsZero() {
			t.Fatalf("it says that everything is read: %+v", item)
		}
	}
	if !errors.Is(err, errSession) {
		t.Errorf("it goes on: %v", err)
	}
}
