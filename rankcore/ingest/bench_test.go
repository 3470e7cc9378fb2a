package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
)

// benchLog is an embedded log that syncs every message, in this process only.
func benchLog(b *testing.B, board *rankcore.Board) *Log {
	b.Helper()
	s, err := StartServer(EmbeddedConfig{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Shutdown)
	conn, err := s.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	l, err := OpenLog(LogConfig{Conn: conn, Boards: []*rankcore.Board{board}, Durability: s.Durability()})
	if err != nil {
		b.Fatal(err)
	}
	runInBench(b, l.Run)
	return l
}

func runInBench(b *testing.B, run func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx)
	}()
	b.Cleanup(func() { cancel(); <-done })
}

// appendAll sends b.N operations in requests of 100 from 64 callers.
func appendAll(b *testing.B, l *Log, board *rankcore.Board) {
	b.Helper()
	const callers, each = 64, 100
	requests := make(chan int)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			ops := make([]rankcore.Op, each)
			for r := range requests {
				for i := range ops {
					n := r*each + i
					ops[i] = rankcore.Op{ID: fmt.Sprintf("evt-%d", n), User: rankcore.UserID(fmt.Sprintf("user-%d", n%100_000)), Kind: rankcore.OpAdd, Value: 1}
				}
				if _, err := l.Append(b.Context(), board, ops); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for r := range (b.N + each - 1) / each {
		requests <- r
	}
	close(requests)
	wg.Wait()
}

func BenchmarkAppend(b *testing.B) {
	board := testBoard("power", 16)
	l := benchLog(b, board)
	b.ResetTimer()
	appendAll(b, l, board)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func BenchmarkAppendToApplied(b *testing.B) {
	board := testBoard("power", 16)
	l := benchLog(b, board)
	store, err := memstore.New(memstore.Config{Boards: []*rankcore.Board{board}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	runInBench(b, store.Run)
	a := NewApplier(ApplierConfig{Log: l, Board: board, Shards: store, Announcer: &heard{}})
	runInBench(b, a.Run)
	b.ResetTimer()
	appendAll(b, l, board)
	newest, err := l.stream.newest(b.Context(), board.ID)
	if err != nil {
		b.Fatal(err)
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for a.Status().Cursor != newest.Position {
		<-look.C
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
