package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

// Writers send a workload from several sides at once. Each sends a batch, sends it again with the same ids until it is
// acknowledged, and only then tells the oracle and goes on to the next.
type Writers struct {
	Workload Workload
	Sender   Sender
	Oracle   *Oracle
	Ledger   *Ledger // nil: none is kept
	Count    int     // writers
	Batch    int     // operations in one batch; at least 1
	Batches  int     // batches of each writer; 0: until ctx ends
	// Rests has each writer rest after a batch for as long as it took, so that readers find a processor.
	Rests bool
	// Grace is how long a batch that is not acknowledged when ctx ends is still tried; 0 is a minute.
	Grace time.Duration
	Now   func() time.Time // nil is time.Now

	acked   atomic.Int64
	retries atomic.Int64

	turn    sync.RWMutex // held shared while a batch is made and under way, and by Pause
	sources []*source    // guarded by turn
}

// Pause returns when every batch under way is acknowledged, and keeps writers from the next until Resume.
func (w *Writers) Pause() { w.turn.Lock() }

// Resume lets paused writers go on. None of them sends an id from before the pause again if forget is set.
func (w *Writers) Resume(forget bool) {
	for _, s := range w.sources {
		if forget {
			s.past = nil
		}
	}
	w.turn.Unlock()
}

// Acked is the number of operations acknowledged so far.
func (w *Writers) Acked() int64 { return w.acked.Load() }

// Retries is the number of times a batch was sent again so far.
func (w *Writers) Retries() int64 { return w.retries.Load() }

// ErrInDoubt: a batch was never acknowledged, so that nobody outside can say whether it counts.
var ErrInDoubt = errors.New("a batch was not acknowledged in time; what the board should show is not known")

// Run sends until every writer has sent its batches or ctx has ended, and leaves no batch in doubt unless it
// returns ErrInDoubt. Operations that are refused are an error too: the workload is right.
func (w *Writers) Run(ctx context.Context) error {
	last, cancel := withGrace(ctx, orDefault(w.Grace, time.Minute))
	defer cancel()
	errs := make([]error, w.Count)
	sources := make([]*source, w.Count)
	for i := range sources {
		sources[i] = w.Workload.source(i)
	}
	w.turn.Lock()
	w.sources = sources
	w.turn.Unlock()
	var running sync.WaitGroup
	for i, s := range sources {
		running.Go(func() { errs[i] = w.write(ctx, last, s) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// withGrace returns a context that ends so much later than ctx.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-ctx.Done():
		case <-last.Done():
			return
		}
		select {
		case <-time.After(grace):
			cancel()
		case <-last.Done():
		}
	}()
	return last, cancel
}

// write sends the batches of one writer until ctx ends. What is under way then has until last ends.
func (w *Writers) write(ctx, last context.Context, s *source) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; (w.Batches == 0 || n < w.Batches) && ctx.Err() == nil; n++ {
		begun := time.Now()
		if err := w.one(last, s); err != nil {
			return fmt.Errorf("writer %d: %w", s.writer, err)
		}
		if w.Rests {
			sleepUntil(ctx, timer, time.Now().Add(time.Since(begun)))
		}
	}
	return nil
}

// one makes a batch, delivers it and tells the oracle.
func (w *Writers) one(ctx context.Context, s *source) error {
	w.turn.RLock()
	defer w.turn.RUnlock()
	ops := s.batch(w.Batch, w.now())
	if w.Ledger != nil {
		w.Ledger.Sent(s.probe(), s.level)
	}
	sending := w.Oracle.Sending(s.writer)
	if err := w.deliver(ctx, ops); err != nil {
		return err
	}
	at := w.now()
	sending.Acked(ops, at)
	if w.Ledger != nil {
		w.Ledger.Acked(s.probe(), time.Now())
	}
	s.acknowledged(ops, at)
	w.acked.Add(int64(len(ops)))
	return nil
}

// deliver sends ops until they are acknowledged. Retries wait from 10 ms up to half a second.
func (w *Writers) deliver(ctx context.Context, ops []rankcore.Op) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := w.Sender.Send(ctx, w.Workload.Board, ops)
		if err == nil || errors.Is(err, ErrRefused) {
			return err
		}
		if !sleepUntil(ctx, timer, time.Now().Add(wait)) {
			return fmt.Errorf("%w: %w", ErrInDoubt, err)
		}
		w.retries.Add(1)
	}
}

func (w *Writers) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}
