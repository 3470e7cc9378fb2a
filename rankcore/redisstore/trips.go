package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// tripsAtOnce is how many shared round trips to a node may be under way: what comes while one is, need not wait for
	// its whole way, and what comes while all are, goes together in the next.
	tripsAtOnce = 2
	// mostTogether bounds the questions of one: it keeps a node busy for about a millisecond.
	mostTogether = 64
)

// trips has questions to single shards share round trips: for such a question most of the price is the way, to a node as
// well as to us. Who comes when none is under way goes at once and alone, so nobody waits for company.
// Safe for concurrent use.
type trips struct {
	send    func(ctx context.Context, node redis.UniversalClient, queries []query) ([]answer[reading], []error)
	timeout time.Duration // of a round trip

	mu    sync.Mutex // guards nodes and what they lead to
	nodes map[redis.UniversalClient]*stop
}

// stop is where questions to a node wait. There is one only while round trips to it are under way.
type stop struct {
	underWay int
	waiting  []*rider
}

// rider is a question on its way.
type rider struct {
	query
	gone   <-chan struct{} // closed when nobody waits for the answer any more
	answer answer[reading]
	sick   error
	back   chan struct{} // closed when there is an answer
}

func newTrips(send func(context.Context, redis.UniversalClient, []query) ([]answer[reading], []error), timeout time.Duration) *trips {
	return &trips{send: send, timeout: timeout, nodes: map[redis.UniversalClient]*stop{}}
}

// ask returns the shard's answer, and an error if the node showed that it is sick, which it does too by not answering
// within ctx's deadline.
func (t *trips) ask(ctx context.Context, node redis.UniversalClient, q query) (answer[reading], error) {
	r := &rider{query: q, gone: ctx.Done(), back: make(chan struct{})}
	t.mu.Lock()
	at := t.nodes[node]
	if at == nil {
		at = &stop{}
		t.nodes[node] = at
	}
	at.waiting = append(at.waiting, r)
	var group []*rider
	if at.underWay < tripsAtOnce {
		if group = at.take(); group != nil {
			at.underWay++
		}
		t.tidy(node, at)
	}
	t.mu.Unlock()
	if group != nil { // else others are under way, or ctx has ended
		t.travel(ctx, node, at, group)
	}
	select {
	case <-r.back:
		return r.answer, r.sick
	case <-ctx.Done():
		return answer[reading]{err: ctx.Err()}, ctx.Err()
	}
}

// take is the next group of those who wait, the first first; nil when nobody does.
func (at *stop) take() (group []*rider) {
	for len(group) < mostTogether && len(at.waiting) > 0 {
		r := at.waiting[0]
		at.waiting = at.waiting[1:]
		select {
		case <-r.gone:
		default:
			group = append(group, r)
		}
	}
	return group
}

// travel asks for a group, and sends the next one on its way when one has come meanwhile. Others depend on it, so the
// caller's leaving does not end it.
func (t *trips) travel(ctx context.Context, node redis.UniversalClient, at *stop, group []*rider) {
	ctx = context.WithoutCancel(ctx)
	within, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	queries := make([]query, len(group))
	for i, r := range group {
		queries[i] = r.query
	}
	answers, sick := t.send(within, node, queries)
	for i, r := range group {
		r.answer, r.sick = answers[i], sick[i]
		close(r.back)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if next := at.take(); next != nil {
		go t.travel(ctx, node, at, next)
		return
	}
	at.underWay--
	t.tidy(node, at)
}

// tidy forgets a stop at which nothing goes on.
func (t *trips) tidy(node redis.UniversalClient, at *stop) {
	if at.underWay == 0 {
		delete(t.nodes, node)
	}
}
