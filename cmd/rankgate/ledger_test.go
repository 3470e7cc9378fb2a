package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ledger is what acknowledged operations add up to, kept by those who sent them and independent of the server.
type ledger struct {
	acked   atomic.Int64 // batches
	retried atomic.Int64 // batches sent more than once

	mu   sync.Mutex // guards sums
	sums map[string]int64
}

type addOp struct {
	ID   string `json:"id"`
	User string `json:"user"`
	Add  int64  `json:"add"`
}

const (
	ledgerUsers   = 60
	ledgerWriters = 6
	tryFor        = time.Minute // a batch is tried; a server that was killed is back long before
)

// write sends batches until stop is closed, each until it is acknowledged, always with the same ids.
func (l *ledger) write(a api, writer int, seed uint64, stop <-chan struct{}) error {
	random := rand.New(rand.NewPCG(seed, uint64(writer)))
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		ops := make([]addOp, 1+random.IntN(20))
		for i := range ops {
			ops[i] = addOp{fmt.Sprintf("%d-%d-%d", writer, n, i), fmt.Sprintf("user %d", random.IntN(ledgerUsers)), 1 + random.Int64N(100)}
		}
		if err := l.insist(a, ops); err != nil {
			return err
		}
		l.mu.Lock()
		for _, op := range ops {
			l.sums[op.User] += op.Add
		}
		l.mu.Unlock()
		l.acked.Add(1)
	}
}

// insist sends one batch until it is acknowledged. Anything but a broken connection or a 503 is a fault.
func (l *ledger) insist(a api, ops []addOp) error {
	body, err := json.Marshal(map[string][]addOp{"ops": ops})
	if err != nil {
		return err
	}
	giveUp := time.Now().Add(tryFor)
	for try := 0; ; try++ {
		status, err := a.do(http.MethodPost, "/v1/boards/power/scores", string(body), nil)
		switch {
		case err == nil && status == http.StatusAccepted:
			return nil
		case err == nil && status != http.StatusServiceUnavailable:
			return fmt.Errorf("a batch got %d", status)
		case time.Now().After(giveUp):
			return fmt.Errorf("a batch was not taken for %v: %d, %w", tryFor, status, err)
		}
		if try == 0 {
			l.retried.Add(1)
		}
		<-time.After(10 * time.Millisecond) // a client's pause between tries
	}
}

// run writes through all faces while disturb runs, and returns when every batch is acknowledged.
func (l *ledger) run(t *testing.T, faces []api, seed uint64, disturb func()) {
	t.Helper()
	l.sums = map[string]int64{}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range ledgerWriters {
		writers.Go(func() {
			if err := l.write(faces[w%len(faces)], w, seed, stop); err != nil {
				t.Error(err)
			}
		})
	}
	defer writers.Wait()
	defer close(stop)
	disturb()
}

// await waits until more batches than n were acknowledged.
func (l *ledger) await(t *testing.T, n int64) {
	t.Helper()
	eventually(t, tryFor, func() error {
		if t.Failed() {
			t.FailNow()
		}
		if got := l.acked.Load(); got < n {
			return fmt.Errorf("%d batches acknowledged, waiting for %d", got, n)
		}
		return nil
	})
}

// compare waits until the board shows exactly what the ledger says.
func (l *ledger) compare(t *testing.T, a api) {
	t.Helper()
	eventually(t, tryFor, func() error {
		var top page
		if status, err := a.do(http.MethodGet, "/v1/boards/power/top?limit=1000", "", &top); err != nil || status != http.StatusOK {
			return fmt.Errorf("top: %d, %w", status, err)
		}
		scores := map[string]int64{}
		for _, e := range top.Entries {
			scores[e.User] = e.Score
		}
		for user, sum := range l.sums {
			if scores[user] > sum {
				t.Fatalf("%s has %d, more than the %d that were acknowledged: something counted twice", user, scores[user], sum)
			}
		}
		if top.Status != "fresh" || !maps.Equal(scores, l.sums) {
			return fmt.Errorf("%s board is %v, acknowledged is %v", top.Status, scores, l.sums)
		}
		return nil
	})
}
