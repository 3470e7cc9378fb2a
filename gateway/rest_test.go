package gateway

import (
	"testing"
	"time"
)

// A store that does not answer is asked once in a while, by one; a success lets all ask again.
func TestAStoreThatDoesNotAnswerRests(t *testing.T) {
	var r rest
	now := time.Unix(1e9, 0)
	for range restAfter {
		if !r.asks(now) {
			t.Fatal("not asked before it failed often enough")
		}
		r.answered(errTest, now)
	}
	if r.asks(now.Add(restFor - 1)) {
		t.Error("asked while it rests")
	}
	now = now.Add(restFor)
	if !r.asks(now) || r.asks(now) {
		t.Error("exactly one is to ask when the rest is over")
	}
	r.answered(errTest, now)
	if r.asks(now.Add(restFor - 1)) {
		t.Error("asked though it failed again")
	}
	now = now.Add(restFor)
	if !r.asks(now) {
		t.Error("not asked again")
	}
	r.answered(nil, now)
	for range 5 {
		if !r.asks(now) {
			t.Error("not asked though it answers")
		}
	}
}
