package redisstore_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// BenchmarkIndexed asks a board of 256 shards on one Redis through the count index: what an answer costs Redis and
// this process, by processor time, and what the obvious commands cost Redis for the same: on one sorted set of all members,
// and on all shards. build reports how long the index took, beside nothing else.
func BenchmarkIndexed(b *testing.B) {
	for _, members := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) { benchIndexed(b, members) })
	}
}

func benchIndexed(b *testing.B, members int) {
	server := servers.Redis(b)
	board := board("indexed")
	board.Shards = 256
	plain := open(b, server.URL)
	w := newWriter(b, plain, board)
	w.fill(members)
	x := openIndexed(b, server.URL, board)
	before := cpu(b, server)
	x.ready(board)
	built := x.index.State(board.ID)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(built.Took.Seconds(), "s")
		}
		b.ReportMetric(cpu(b, server)-before, "redis-s")
		b.ReportMetric(float64(built.Bytes)/float64(built.Scores), "B/score")
	})
	board.Freshness = time.Nanosecond // each estimate takes its own segments
	measure := func(name string, ask func() error) {
		b.Run(name, func(b *testing.B) {
			x.ready(board)
			spent, own, beaten := cpu(b, server), processorTime(b), time.Now()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
				if time.Since(beaten) > time.Second { // the heartbeat that keeps an index current
					b.StopTimer()
					beat, mine := cpu(b, server), processorTime(b)
					x.Positions(b.Context(), board)
					spent, own, beaten = spent+cpu(b, server)-beat, own+processorTime(b)-mine, time.Now()
					b.StartTimer()
				}
			}
			b.ReportMetric((cpu(b, server)-spent)*1e6/float64(b.N), "redis-us/op")
			b.ReportMetric((processorTime(b)-own)*1e6/float64(b.N), "cpu-us/op")
		})
	}
	rank := func(p rankcore.Precision) func() error {
		return func() error {
			_, err := x.Store.Rank(b.Context(), rankcore.RankQuery{Board: board, Season: "all", User: user(w.rnd.IntN(members)), Precision: p})
			return err
		}
	}
	measure("exact", rank(rankcore.Exact))
	measure("exact-32-at-once", func() error { // 32 questions, each by a caller of its own
		var asking sync.WaitGroup
		errs := make([]error, 32)
		for i := range errs {
			q := rankcore.RankQuery{Board: board, Season: "all", User: user(w.rnd.IntN(members)), Precision: rankcore.Exact}
			asking.Go(func() { _, errs[i] = x.Store.Rank(b.Context(), q) })
		}
		asking.Wait()
		return errors.Join(errs...)
	})
	measure("top-100", func() error {
		_, err := x.Store.Top(b.Context(), rankcore.TopQuery{Board: board, Season: "all", Limit: 100})
		return err
	})
	measure("page-deep", func() error {
		place := rankcore.Place{Score: rankcore.Score(w.rnd.IntN(1_000_000)), User: user(w.rnd.IntN(members))}
		_, err := x.Store.Rows(b.Context(), rankcore.RowsQuery{Board: board, Season: "all", Limit: 100, After: place})
		return err
	})
	measure("around-11", func() error {
		_, err := x.Store.Rows(b.Context(), rankcore.RowsQuery{Board: board, Season: "all", Limit: 11, Around: user(w.rnd.IntN(members))})
		return err
	})
	measure("segments", rank(rankcore.Approx))
	board.Freshness = time.Second
	measure("estimate", rank(rankcore.Approx))
	top, err := x.Store.Top(b.Context(), rankcore.TopQuery{Board: board, Season: "all", Limit: 100})
	if err != nil {
		b.Fatal(err)
	}
	threshold := strconv.FormatInt(board.Order.Key(top.Entries[99].Score), 10)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: 10 * time.Minute, Protocol: 2})
	b.Cleanup(func() { _ = client.Close() })
	var shards []string
	for i := range board.Shards {
		shards = append(shards, fmt.Sprintf("rank:{indexed:%d}:all:main", i))
	}
	if err := client.ZUnionStore(b.Context(), "single", &redis.ZStore{Keys: shards}).Err(); err != nil {
		b.Fatal(err)
	}
	naive := func(name string, keys []string, command func(key string) []any) {
		measure("naive-"+name, func() error {
			pipe := client.Pipeline()
			for _, key := range keys {
				pipe.Do(b.Context(), command(key)...)
			}
			_, err := pipe.Exec(b.Context())
			return err
		})
	}
	naive("rank-in-one", []string{"single"}, func(key string) []any { return []any{"ZRANK", key, string(user(w.rnd.IntN(members)))} })
	naive("top-of-one", []string{"single"}, func(key string) []any { return []any{"ZRANGE", key, 0, 99, "WITHSCORES"} })
	at := 0
	naive("rank-by-256", shards, func(key string) []any {
		if key == shards[0] {
			at = w.rnd.IntN(1_000_000)
		}
		return []any{"ZCOUNT", key, "-inf", -at}
	})
	naive("top-of-256", shards, func(key string) []any { return []any{"ZRANGE", key, 0, 99, "WITHSCORES"} })
	naive("top-by-threshold", shards, func(key string) []any {
		return []any{"ZRANGE", key, "-inf", threshold, "BYSCORE", "WITHSCORES"}
	})
}

// processorTime is what this process has used, in seconds.
func processorTime(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
