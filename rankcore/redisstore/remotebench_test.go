package redisstore_test

import (
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
	"rankgate/rankcore/redisstore"
)

// BenchmarkRemote asks for exact ranks of a board of 256 shards: by the index of a core that is asked over NATS, by an
// index of its own, and by the shards. cpu-us is this process's, core and gateway together.
func BenchmarkRemote(b *testing.B) {
	const members = 100_000
	server, log := servers.Redis(b), servers.NATS(b)
	board := board("remote")
	board.Shards = 256
	r, plain := openRemote(b, server.URL, log.URL, board), open(b, server.URL)
	w := newWriter(b, r.core.Store, board)
	w.to = r
	w.fill(members)
	for _, by := range []struct {
		name  string
		store *redisstore.Store
	}{{"core", r.Store}, {"own", r.core.Store}, {"shards", plain}} {
		b.Run(by.name, func(b *testing.B) {
			redis, own, answered, asked := -cpu(b, server), -processorTime(b), r.results("answered"), 0
			for b.Loop() {
				if asked%500 == 0 { // the heartbeat that keeps an index current
					b.StopTimer()
					redis, own = redis+cpu(b, server), own+processorTime(b)
					r.find(board)
					redis, own, answered = redis-cpu(b, server), own-processorTime(b), answered+1
					b.StartTimer()
				}
				asked++
				q := rankcore.RankQuery{Board: board, Season: "all", User: user(w.rnd.IntN(members)), Precision: rankcore.Exact}
				if _, err := by.store.Rank(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((redis+cpu(b, server))*1e6/float64(asked), "redis-us/op")
			b.ReportMetric((own+processorTime(b))*1e6/float64(asked), "cpu-us/op")
			b.ReportMetric((r.results("answered")-answered)/float64(asked), "by-core/op")
		})
	}
}
