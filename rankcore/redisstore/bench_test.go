package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// cpu is the processor time that a Redis has used for its users, in seconds.
func cpu(tb testing.TB, r *servers.RedisServer) float64 {
	tb.Helper()
	return info(tb, r, "cpu", "used_cpu_user") + info(tb, r, "cpu", "used_cpu_sys")
}

func info(tb testing.TB, r *servers.RedisServer, section, field string) float64 {
	tb.Helper()
	text, _ := r.Do("INFO", section).(string)
	m := regexp.MustCompile(`(?m)^` + field + `[:=]([0-9.]+)`).FindStringSubmatch(text)
	if m == nil {
		tb.Fatalf("no %s in INFO %s", field, section)
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// BenchmarkApply: every operation changes a score, and about one in eight its segment. For each operation it reports
// the processor time Redis used for all of it, and how long it was in the script. Each call has 8, 100 or 500
// operations; with ids, each has one, and as many are remembered as there are in practice; with seasons, each counts in
// three; with moves, an index is told what changes.
func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		name                string
		ids, seasons, moves bool
	}{{name: "plain"}, {name: "ids", ids: true}, {name: "ids-3seasons", ids: true, seasons: true}, {name: "ids-moves", ids: true, moves: true}} {
		b.Run(c.name, func(b *testing.B) {
			server := servers.Redis(b)
			board := board("bench")
			board.Shards, board.Dedupe = 8, 10*time.Minute
			if c.seasons {
				board.Seasons = []rankcore.SeasonKind{rankcore.All, rankcore.Day, rankcore.Week}
				board.Keep = map[rankcore.SeasonKind]time.Duration{rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour}
			}
			w := newWriter(b, open(b, server.URL), board)
			const members = 200_000
			w.fill(members)
			w.moves = c.moves
			message := func(perCall int) (ops int) {
				batch := make([]rankcore.Op, perCall*board.Shards)
				for i := range batch {
					batch[i] = rankcore.Op{User: user(w.rnd.IntN(members)), Value: rankcore.Score(1 + w.rnd.IntN(2000))}
					if c.ids {
						batch[i].ID = strconv.FormatUint(w.rnd.Uint64(), 36)
					}
				}
				w.write(batch...)
				return len(batch)
			}
			for range 12 {
				w.later += time.Minute
				message(2000)
			}
			for _, perCall := range []int{8, 100, 500} {
				b.Run(strconv.Itoa(perCall), func(b *testing.B) {
					ops, cpuBefore, scriptBefore := 0, cpu(b, server), scriptTime(b, server)
					for b.Loop() {
						w.later += time.Duration(perCall) * time.Second / 60 // 60 operations a second and shard
						ops += message(perCall)
					}
					b.ReportMetric(1e6*(cpu(b, server)-cpuBefore)/float64(ops), "redis-us/op")
					b.ReportMetric((scriptTime(b, server)-scriptBefore)/float64(ops), "script-us/op")
				})
			}
		})
	}
}

// scriptTime is how long a Redis has been in scripts, in microseconds.
func scriptTime(tb testing.TB, r *servers.RedisServer) float64 {
	tb.Helper()
	return info(tb, r, "commandstats", "cmdstat_evalsha:calls=[0-9]+,usec")
}

// BenchmarkPlainZAdd is what the same changes cost without ranks, ids or a position: one ZADD of 500 members for
// each shard. The machine's mood is in both figures, so compare the two of one run.
func BenchmarkPlainZAdd(b *testing.B) {
	server := servers.Redis(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: patience})
	defer func() { _ = client.Close() }()
	rnd := rand.New(rand.NewPCG(1, 2))
	const shards, perShard = 4, 100_000
	send := func(shard int, next func(i int) redis.Z, n int) {
		members := make([]redis.Z, n)
		for i := range members {
			members[i] = next(i)
		}
		if err := client.ZAdd(b.Context(), strconv.Itoa(shard), members...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	for shard := range shards {
		for from := 0; from < perShard; from += 10_000 {
			send(shard, func(i int) redis.Z { return redis.Z{Member: string(user(from + i)), Score: rnd.ExpFloat64() * 1e6} }, 10_000)
		}
	}
	before, ops := cpu(b, server), 0
	for b.Loop() {
		for shard := range shards {
			send(shard, func(int) redis.Z {
				return redis.Z{Member: string(user(rnd.IntN(perShard))), Score: float64(int(rnd.ExpFloat64() * 1e6))}
			}, 500)
			ops += 500
		}
	}
	b.ReportMetric((cpu(b, server)-before)*1e6/float64(ops), "redis-us/op")
}

// BenchmarkMemory reports what a member costs Redis, its id being 16 bytes, and what an operation id costs within the
// horizon, with what is still kept of those beyond it: at a steady rate, on average and at most.
func BenchmarkMemory(b *testing.B) {
	server := servers.Redis(b)
	board := board("memory")
	board.Shards = 16
	w := newWriter(b, open(b, server.URL), board)
	for b.Loop() {
		const members = 400_000
		used := func() float64 { return info(b, server, "memory", "used_memory") }
		empty := used()
		w.fill(members)
		full, sum, most := used(), 0.0, 0.0
		b.ReportMetric((full-empty)/members, "B/member")
		const perMessage, messages = 10_000, 30 // within the horizon
		for i := range 2 * messages {
			w.later += (board.Dedupe + 2*rankcore.IDSlack) / messages
			ops := make([]rankcore.Op, perMessage)
			for j := range ops {
				ops[j] = rankcore.Op{ID: strconv.FormatUint(w.rnd.Uint64(), 36), User: user(w.rnd.IntN(members))}
			}
			w.write(ops...)
			if i >= messages {
				n := used() - full
				sum, most = sum+n/messages, max(most, n)
			}
		}
		b.ReportMetric(sum/(perMessage*messages), "B/id")
		b.ReportMetric(most/(perMessage*messages), "B/id-at-most")
	}
}

// BenchmarkRead asks a board of 256 shards.
func BenchmarkRead(b *testing.B) {
	server := servers.Redis(b)
	board := board("read")
	board.Shards = 256
	board.Freshness = time.Nanosecond // each estimate loads its own segments
	store := open(b, server.URL)
	const members = 1_000_000
	w := newWriter(b, store, board)
	w.fill(members)
	measure := func(name string, ask func() error) {
		b.Run(name, func(b *testing.B) {
			before := cpu(b, server)
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu(b, server)-before)*1e3/float64(b.N), "redis-ms/op")
		})
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: patience})
	defer func() { _ = client.Close() }()
	measure("plain-zcounts", func() error { // what counting costs without any check, to compare
		pipe := client.Pipeline()
		for i := range board.Shards {
			pipe.ZCount(b.Context(), fmt.Sprintf("rank:{read:%d}:all:main", i), "-inf", strconv.Itoa(-w.rnd.IntN(1_000_000)))
		}
		_, err := pipe.Exec(b.Context())
		return err
	})
	measure("top-100", func() error {
		_, err := store.Top(b.Context(), rankcore.TopQuery{Board: board, Season: "all", Limit: 100})
		return err
	})
	for _, p := range []rankcore.Precision{rankcore.Exact, rankcore.Approx} {
		measure(p.String(), func() error {
			_, err := store.Rank(b.Context(), rankcore.RankQuery{Board: board, Season: "all", User: user(w.rnd.IntN(members)), Precision: p})
			return err
		})
	}
}

// BenchmarkLists asks a board of 256 shards for pages of 100 near and far, also inside a tie of all members, for the
// rows around users, and for batches of 200.
func BenchmarkLists(b *testing.B) {
	server := servers.Redis(b)
	spread, tied := board("spread"), board("tied")
	spread.Shards, tied.Shards = 256, 256
	store := open(b, server.URL)
	const members = 1_000_000
	w := newWriter(b, store, spread)
	w.fill(members)
	all := newWriter(b, store, tied)
	for from := 0; from < members/10; from += 50_000 {
		var ops []rankcore.Op
		for i := range 50_000 {
			ops = append(ops, set(user(from+i), 7))
		}
		all.write(ops...)
	}
	measure := func(name string, ask func() error) {
		b.Run(name, func(b *testing.B) {
			before := cpu(b, server)
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu(b, server)-before)*1e3/float64(b.N), "redis-ms/op")
		})
	}
	rows := func(q rankcore.RowsQuery) error {
		q.Season = "all"
		_, err := store.Rows(b.Context(), q)
		return err
	}
	anybody := func() rankcore.UserID { return user(w.rnd.IntN(members)) }
	batch := func(first ...rankcore.UserID) error {
		users := first
		for len(users) < rankcore.MaxUsers {
			users = append(users, anybody())
		}
		_, err := store.Ranks(b.Context(), rankcore.RanksQuery{Board: spread, Season: "all", Users: users})
		return err
	}
	top, err := store.Top(b.Context(), rankcore.TopQuery{Board: spread, Season: "all", Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	measure("page-first", func() error { return rows(rankcore.RowsQuery{Board: spread, Limit: 100}) })
	measure("page-deep", func() error {
		return rows(rankcore.RowsQuery{Board: spread, Limit: 100, After: rankcore.Place{Score: rankcore.Score(w.rnd.IntN(1_000_000)), User: anybody()}})
	})
	measure("page-in-tie", func() error {
		return rows(rankcore.RowsQuery{Board: tied, Limit: 100, After: rankcore.Place{Score: 7, User: user(w.rnd.IntN(members / 10))}})
	})
	measure("around-11", func() error { return rows(rankcore.RowsQuery{Board: spread, Limit: 11, Around: anybody()}) })
	measure("batch-200", func() error { return batch() })
	measure("batch-200-with-the-first", func() error { return batch(top.Entries[0].User) })
}
