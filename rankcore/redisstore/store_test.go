package redisstore_test

import (
	"log/slog"
	"testing"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
	"rankgate/rankcore/storetest"
)

// patience is how long tests wait for a Redis that shares a busy machine.
const patience = 10 * time.Second

func open(tb testing.TB, url string) *redisstore.Store {
	tb.Helper()
	return openCounting(tb, url, nil)
}

// openCounting opens a store that asks a counter.
func openCounting(tb testing.TB, url string, counter redisstore.Counter) *redisstore.Store {
	tb.Helper()
	s, err := redisstore.New(redisstore.Config{
		URL: url, ReadTimeout: patience, StepTimeout: patience, Log: slog.New(slog.DiscardHandler), Counter: counter,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// anew makes estimates count anew each time: the suite asks right after it writes, and an estimate may
// otherwise be as old as the board's freshness.
func anew(boards []*rankcore.Board) {
	for _, b := range boards {
		b.Freshness = time.Nanosecond
	}
}

func TestStore(t *testing.T) {
	server := servers.Redis(t)
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		anew(boards)
		server.Do("FLUSHALL")
		return open(t, server.URL)
	})
}

func TestStoreOnCluster(t *testing.T) {
	cluster := servers.RedisCluster(t, 3, 0)
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		anew(boards)
		for _, m := range cluster.Masters {
			m.Do("FLUSHALL")
		}
		return open(t, cluster.URL)
	})
}
