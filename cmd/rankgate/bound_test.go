package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// counting adds one to a user's score over and over and knows when each addition was acknowledged.
type counting struct {
	mu    sync.Mutex  // guards acked
	acked []time.Time // of the score 1, 2, ...
	sent  atomic.Int64
}

// run sends each addition until it is acknowledged, always with the same id.
func (c *counting) run(ctx context.Context, through api) {
	for n := int64(1); ctx.Err() == nil; n++ {
		c.sent.Store(n)
		body := fmt.Sprintf(`{"ops":[{"id":"n%d","user":"ann","add":1}]}`, n)
		for ctx.Err() == nil {
			if status, err := through.do(http.MethodPost, "/v1/boards/power/scores", body, nil); err == nil && status == http.StatusAccepted {
				break
			}
		}
		c.mu.Lock()
		c.acked = append(c.acked, time.Now())
		c.mu.Unlock()
	}
}

// at is the score that was acknowledged by then.
func (c *counting) at(then time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := slices.BinarySearchFunc(c.acked, then, func(acked, then time.Time) int { return acked.Compare(then) })
	return int64(n)
}

// near is a reader of one gateway that holds every answer against what was acknowledged and what it saw before.
type near struct {
	name    string
	gateway *child
	client  *http.Client
	count   *counting

	fresh, other atomic.Int64 // answers
}

const bound = time.Second // the board's

func (n *near) run(ctx context.Context, t *testing.T) {
	var rank, top struct {
		score int64
		asOf  time.Time
	}
	for ctx.Err() == nil {
		asked := time.Now()
		score, status, asOf := n.rank(ctx)
		if n.judge(t, "rank", asked, status, score); score >= 0 {
			if score < rank.score || asOf.Before(rank.asOf) {
				t.Errorf("%s: %d as of %v after %d as of %v", n.name, score, asOf, rank.score, rank.asOf)
			}
			rank.score, rank.asOf = score, asOf
		}
		asked = time.Now()
		score, status, asOf = n.top(ctx)
		if n.judge(t, "top", asked, status, score); score >= 0 {
			if score < top.score || asOf.Before(top.asOf) {
				t.Errorf("%s: the top shows %d as of %v after %d as of %v", n.name, score, asOf, top.score, top.asOf)
			}
			top.score, top.asOf = score, asOf
		}
	}
}

func (n *near) judge(t *testing.T, what string, asked time.Time, status string, score int64) {
	switch status {
	case "": // nobody answered
		return
	case "fresh":
		n.fresh.Add(1)
	default:
		n.other.Add(1)
	}
	if least := n.count.at(asked.Add(-bound)); status == "fresh" && max(score, 0) < least {
		t.Errorf("%s: a %s called fresh shows %d, and %d was acknowledged %v before the question", n.name, what, score, least, bound)
	}
	if most := n.count.sent.Load(); score > most {
		t.Errorf("%s: a %s shows %d of %d that were sent", n.name, what, score, most)
	}
}

// rank is the user's score, -1 where none is shown, and what its answer says of itself; without a status nobody answered.
func (n *near) rank(ctx context.Context) (score int64, status string, asOf time.Time) {
	var got struct {
		Status string
		Rank   *int
		Score  int64
		AsOf   time.Time `json:"as_of"`
	}
	if !n.ask(ctx, "/v1/boards/power/users/ann/rank", &got) || got.Rank == nil {
		return -1, got.Status, got.AsOf
	}
	return got.Score, got.Status, got.AsOf
}

func (n *near) top(ctx context.Context) (score int64, status string, asOf time.Time) {
	var got struct {
		page
		AsOf time.Time `json:"as_of"`
	}
	if !n.ask(ctx, "/v1/boards/power/top?limit=1", &got) || len(got.Entries) == 0 {
		return -1, got.Status, got.AsOf
	}
	return got.Entries[0].Score, got.Status, got.AsOf
}

func (n *near) ask(ctx context.Context, path string, v any) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.gateway.url+path, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(v) == nil
}

// settled waits until the gateway calls its answers fresh again.
func (n *near) settled(t *testing.T) {
	t.Helper()
	was := n.fresh.Load()
	eventually(t, tryFor, func() error {
		if n.fresh.Load() < was+10 {
			return fmt.Errorf("%s calls nothing fresh", n.name)
		}
		return nil
	})
}

// Whatever keeps the news from a gateway, what it calls fresh has every write that was acknowledged more than the
// bound before, and none of its answers goes back.
func TestTheBoundHoldsOnEveryGateway(t *testing.T) { boundHolds(t, 3*bound/2) }

// boundHolds has each fault last that long.
func boundHolds(t *testing.T, each time.Duration) {
	t.Helper()
	nats, redis := servers.NATS(t), servers.Redis(t)
	config := fmt.Sprintf("boards: { power: { update: add, shards: 4 } }\nlimits: { per_address_rps: -1 }\nstore: { url: %q }\nlog: { monitors: [%q], url: ",
		redis.URL, nats.MonitorURL)
	direct := fmt.Sprintf("%q }\nrole: ", nats.URL)
	core, writer := startChild(t, config+direct+"core"), startChild(t, config+direct+"gateway")
	links := []*natsLink{newNATSLink(t, nats.URL), newNATSLink(t, nats.URL)}
	count := &counting{}
	watched := []*near{{name: "the writer's gateway", gateway: writer}}
	for i, l := range links {
		watched = append(watched, &near{name: fmt.Sprintf("gateway %d", i), gateway: startChild(t, config+fmt.Sprintf("%q }\nrole: gateway", l.url))})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	writer.awaitReady(t)
	work.Go(func() { count.run(ctx, writer.api) })
	for _, n := range watched {
		n.count = count
		n.client = &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{}} // so that one has just been asked when a gateway wakes
		n.gateway.awaitReady(t)
		work.Go(func() { n.run(ctx, t); n.client.CloseIdleConnections() })
	}
	eachLink := func(do func(*natsLink)) func() {
		return func() {
			for _, l := range links {
				do(l)
			}
		}
	}
	asleep := watched[1].gateway
	for _, fault := range []struct {
		name       string
		hurt, mend func()
	}{
		{"a gateway asleep", asleep.Freeze, asleep.Thaw},
		{"a gateway cut off from NATS", links[1].stall, links[1].goOn},
		{"broadcasts lost", eachLink((*natsLink).losing), eachLink((*natsLink).whole)},
		{"the applier killed", core.Kill, core.Restart},
		{"NATS frozen", nats.Freeze, nats.Thaw},
		{"NATS killed", nats.Kill, nats.Restart},
	} {
		for _, n := range watched {
			n.settled(t)
		}
		began := count.at(time.Now())
		fault.hurt()
		<-time.After(each)
		fault.mend()
		for _, n := range watched {
			n.settled(t)
			t.Logf("%s: after %d writes, %s has given %d fresh answers and %d others", fault.name, count.at(time.Now())-began, n.name, n.fresh.Load(), n.other.Load())
		}
	}
	for i, l := range links {
		if l.lost.Load() == 0 {
			t.Errorf("link %d lost nothing", i)
		}
		if n := metric(t, watched[i+1].gateway.api, `rankgate_invalidation_suspicions_total{why="gap"}`); n == 0 {
			t.Errorf("%s missed nothing", watched[i+1].name)
		}
	}
}
