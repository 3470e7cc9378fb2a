package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/degrade"
	"rankgate/gateway"
	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/countindex"
	"rankgate/rankcore/ingest"
	"rankgate/rankcore/redisstore"
)

func TestHealthNamesWhatIsWrong(t *testing.T) {
	fine := ingest.ApplierStatus{CaughtUp: time.Now(), Shards: map[string]int{"following": 16}}
	for name, c := range map[string]struct {
		log     ingest.Health
		applier ingest.ApplierStatus
		part    string
		state   gateway.State
		detail  string
	}{
		"all is well":   {ingest.Health{Reachable: true}, fine, "log", gateway.OK, ""},
		"log away":      {ingest.Health{Detail: "no servers"}, fine, "log", gateway.Down, "no servers"},
		"log full":      {ingest.Health{Reachable: true, Full: true, Detail: "full"}, fine, "log", gateway.Degraded, "full"},
		"starting":      {ingest.Health{Reachable: true}, ingest.ApplierStatus{}, "applier", gateway.Degraded, "board power: reading the log"},
		"shards out":    {ingest.Health{Reachable: true}, ingest.ApplierStatus{CaughtUp: time.Now(), Shards: map[string]int{"following": 14, "unknown": 2}}, "applier", gateway.Degraded, "2 shards do not follow"},
		"stands by":     {ingest.Health{Reachable: true}, ingest.ApplierStatus{StandsBy: true}, "applier", gateway.OK, "board power: stands by"},
		"front trimmed": {ingest.Health{Reachable: true}, ingest.ApplierStatus{CaughtUp: time.Now(), Rebuild: 3}, "applier", gateway.Degraded, "rebuild needed"},
		"tail lost":     {ingest.Health{Reachable: true}, ingest.ApplierStatus{CaughtUp: time.Now(), LogLost: true}, "applier", gateway.Degraded, "has lost operations"},
	} {
		t.Run(name, func(t *testing.T) {
			h := health{
				boards:   []*rankcore.Board{{ID: "power"}},
				log:      func() ingest.Health { return c.log },
				store:    &storeWatch{},
				index:    indexNews(nil),
				appliers: map[rankcore.BoardID]func() ingest.ApplierStatus{"power": func() ingest.ApplierStatus { return c.applier }},
			}
			got := h.check(t.Context())
			if d := got.Dependencies[c.part]; !got.Ready || d.State != c.state || !strings.Contains(d.Detail, c.detail) {
				t.Errorf("ready %v, %s is %+v, want %s: %s", got.Ready, c.part, d, c.state, c.detail)
			}
		})
	}
}

// shows is a reader whose every page has one status.
type shows struct {
	rankcore.Reader
	status rankcore.Status
}

func (s shows) Top(context.Context, rankcore.TopQuery) (*rankcore.Page, error) {
	return &rankcore.Page{Meta: rankcore.Meta{Status: s.status}}, nil
}

// A gateway is ready while it can show anything at all, whatever is down behind it.
func TestReadyWhileAnythingCanBeShown(t *testing.T) {
	for status, want := range map[rankcore.Status]bool{
		rankcore.Fresh: true, rankcore.Stale: true, rankcore.Partial: true, rankcore.Updating: false,
	} {
		h := health{
			boards: []*rankcore.Board{{ID: "power", Seasons: []rankcore.SeasonKind{rankcore.All}, Location: time.UTC}},
			log:    func() ingest.Health { return ingest.Health{} },
			store:  &storeWatch{check: func(context.Context) error { return nil }},
			progress: func(rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
				return rankcore.Progress{}, time.Time{}, false
			},
			reader: shows{status: status},
		}
		if got := h.check(t.Context()); got.Ready != want || got.Dependencies["log"].State != gateway.Down {
			t.Errorf("showing what is %s: %+v, want ready %v", status, got, want)
		}
	}
}

func TestGatewayHearsOfAppliersElsewhere(t *testing.T) {
	heard := time.Now()
	h := health{
		boards: []*rankcore.Board{{ID: "power"}},
		progress: func(rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
			return rankcore.Progress{CaughtUp: heard}, heard, true
		},
	}
	if d := h.applierState(); d.State != gateway.OK {
		t.Errorf("heard just now: %+v", d)
	}
	heard = heard.Add(-2 * silentFor)
	if d := h.applierState(); d.State != gateway.Down || !strings.Contains(d.Detail, "no applier is heard") {
		t.Errorf("silent for long: %+v", d)
	}
}

func TestStoreWatchRemembersTheLastLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := &redisstore.Unfit{Why: "maxmemory-policy is allkeys-lru"}
		var mended atomic.Bool
		check := func(context.Context) error {
			if mended.Load() {
				return nil
			}
			return wrong
		}
		w := &storeWatch{check: check, log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		synctest.Wait()
		if d := w.state(); d.State != gateway.Degraded || d.Detail != wrong.Why {
			t.Errorf("after the first look: %+v", d)
		}
		mended.Store(true)
		time.Sleep(watchEvery + time.Millisecond)
		if d := w.state(); d.State != gateway.OK {
			t.Errorf("after the store was mended: %+v", d)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// A store of one node is not said to be down while its node is well, nor the other way round.
func TestStoreOfOneNodeIsToldAlike(t *testing.T) {
	open, trying := degrade.PartState{Name: "a:1", Reason: rankcore.CoreDown}, degrade.PartState{Name: "a:1", Reason: rankcore.CoreDown, Trying: true}
	well, other := degrade.PartState{Name: "a:1"}, degrade.PartState{Name: "b:1"}
	const ok, degraded, down = gateway.OK, gateway.Degraded, gateway.Down
	for name, c := range map[string]struct {
		found       gateway.State
		parts       []degrade.PartState
		store, node gateway.State
	}{
		"well":                     {ok, []degrade.PartState{well}, ok, ok},
		"nobody asks":              {down, nil, down, ""},
		"few ask":                  {down, []degrade.PartState{well}, down, down},
		"readers know first":       {ok, []degrade.PartState{open}, down, down},
		"it is tried again":        {ok, []degrade.PartState{trying}, degraded, degraded},
		"it is tried, and is away": {down, []degrade.PartState{trying}, down, degraded},
		"its settings are wrong":   {degraded, []degrade.PartState{well}, degraded, ok},
		"one of two":               {down, []degrade.PartState{well, other}, down, ok},
	} {
		w := &storeWatch{check: func(context.Context) error { return nil }, parts: func() []degrade.PartState { return c.parts }}
		w.found.Store(&gateway.Dependency{State: c.found})
		told := map[string]gateway.Dependency{}
		if w.describe(told); told["store"].State != c.store || told["store node 1"].State != c.node {
			t.Errorf("%s: %v", name, told)
		}
	}
}

func TestStoreIsToldWithoutItsAddress(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 6379}, Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		err   error
		state gateway.State
	}{
		"fine":      {nil, gateway.OK},
		"unfit":     {fmt.Errorf("10.1.2.3:6379: %w", &redisstore.Unfit{Why: "set it to noeviction"}), gateway.Degraded},
		"refused":   {fmt.Errorf("asking Redis about itself: %w", refused), gateway.Down},
		"one node":  {&redisstore.Away{Nodes: 1, Of: 4}, gateway.Degraded},
		"in a list": {errors.Join(nil, fmt.Errorf("asking: %w", refused)), gateway.Down},
		"late":      {fmt.Errorf("10.1.2.3:6379: %w", context.DeadlineExceeded), gateway.Down},
		"no access": {errors.New("NOAUTH: authentication is required"), gateway.Down},
	} {
		if d := dependencyOf(c.err); d.State != c.state || strings.Contains(d.Detail, "10.1.2.3") || (d.Detail == "") != (c.err == nil) {
			t.Errorf("%s: %+v, want %s and no address", name, d, c.state)
		}
	}
}

func TestUnfitStoreIsRefusedAtTheStart(t *testing.T) {
	redis := servers.Redis(t, servers.With("maxmemory-policy", "allkeys-lru"))
	cfg := embedded(t)
	cfg.StoreURL = redis.URL
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := func(string) { cancel() } // it must not come to this
	err := serve(ctx, cfg, streams{out: io.Discard, err: io.Discard}, started)
	if err == nil || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("serve: %v, want what to set", err)
	}
}

// An index that is not ready is told, and is no fault.
func TestHealthTellsOfTheCountIndex(t *testing.T) {
	b := &rankcore.Board{ID: "power", Shards: 16}
	fine := ingest.ApplierStatus{CaughtUp: time.Now(), Shards: map[string]int{"following": 16}}
	h := health{
		boards:   []*rankcore.Board{b},
		appliers: map[rankcore.BoardID]func() ingest.ApplierStatus{"power": func() ingest.ApplierStatus { return fine }},
		index:    indexNews(countindex.New(countindex.Config{Boards: []*rankcore.Board{b}})),
	}
	const want = "board power: exact ranks are slower, as the count index is not ready: "
	if d := h.applierState(); d.State != gateway.OK || !strings.HasPrefix(d.Detail, want) || !strings.HasSuffix(d.Detail, "; 0 members of 0 of 16 shards are counted") {
		t.Errorf("before it is built: %+v", d)
	}
	fine.StandsBy = true
	if d := h.applierState(); strings.Contains(d.Detail, "index") {
		t.Errorf("another core applies: %+v", d)
	}
}
