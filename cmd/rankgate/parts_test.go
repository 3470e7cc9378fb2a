package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestPartsStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var stopped []string
		waits := func(name string) part {
			return part{name, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second) // others must wait for it
				mu.Lock()
				defer mu.Unlock()
				stopped = append(stopped, name)
				return nil
			}}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := runParts(ctx, []part{waits("log"), waits("applier"), waits("gateway")}, slog.New(slog.DiscardHandler))
		if want := []string{"gateway", "applier", "log"}; err != nil || !slices.Equal(stopped, want) {
			t.Errorf("stopped %v, %v, want %v", stopped, err, want)
		}
	})
}

func TestPartThatEndsStopsTheOthers(t *testing.T) {
	broken := errors.New("broken")
	for _, end := range []error{broken, nil} {
		synctest.Test(t, func(t *testing.T) {
			stopped := false
			err := runParts(t.Context(), []part{
				{"log", func(ctx context.Context) error { <-ctx.Done(); stopped = true; return nil }},
				{"applier", func(context.Context) error { return end }},
			}, slog.New(slog.DiscardHandler))
			if err == nil || end != nil && !errors.Is(err, end) || !stopped {
				t.Errorf("runParts = %v, the other stopped: %v", err, stopped)
			}
		})
	}
}

func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		err := runParts(ctx, []part{{"stuck", func(context.Context) error { <-release; return nil }}}, slog.New(slog.DiscardHandler))
		if spent := time.Since(start); err != nil || spent != stopAllWithin {
			t.Errorf("stopped after %v with %v, want %v", spent, err, stopAllWithin)
		}
		close(release)
	})
}
