package importer

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

const (
	barWidth  = 30
	drawEvery = 200 * time.Millisecond
)

// ShowProgress draws a bar on a terminal until ctx ends, then clears its line.
func ShowProgress(ctx context.Context, w io.Writer, total int, sent *atomic.Int64) {
	start := time.Now()
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(w, "\r\x1b[K%s", bar(int(sent.Load()), total, time.Since(start)))
		case <-ctx.Done():
			fmt.Fprint(w, "\r\x1b[K")
			return
		}
	}
}

// bar is one line: how much is done, how fast it goes, and how long the rest takes at that pace.
func bar(done, total int, spent time.Duration) string {
	full := barWidth * done / max(total, 1)
	pace := float64(done) / max(spent.Seconds(), 1e-3)
	left := "?"
	if done > 0 {
		left = time.Duration(float64(total-done) / pace * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("[%s%s] %d/%d rows  %.0f rows/s  %s left",
		strings.Repeat("#", full), strings.Repeat("-", barWidth-full), done, total, pace, left)
}
