package loadtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"rankgate/rankcore"
)

// VisibleReport is how long after its acknowledgement a write was shown by another gateway.
type VisibleReport struct {
	URL       string  `json:"url"`
	Writes    int64   `json:"writes"` // acknowledged, and then looked for
	Missed    int64   `json:"missed"` // of these, not shown within 5 s
	LatencyUS Latency `json:"latency_us"`
}

const (
	visibleEvery  = 50 * time.Millisecond // from one write to the next; a late one is not made up for
	visibleLook   = time.Millisecond      // from one look to the next
	visibleWithin = 5 * time.Second
	visibleProbes = 100 // users written to, in turn
)

// viewer looks for writes on one gateway.
type viewer struct {
	client  *Client
	latency *hdrhistogram.Histogram
	report  VisibleReport
}

// visible writes single scores and looks for each on every gateway to be watched.
type visible struct {
	board   *rankcore.Board
	writer  *Client
	viewers []*viewer
	serial  int64
}

func (c *LoadConfig) visible() (*visible, error) {
	writer, err := NewClient(c.Client)
	if err != nil {
		return nil, err
	}
	v := &visible{board: c.Board, writer: writer, serial: time.Now().UnixMilli()}
	for _, u := range c.Watch {
		cfg := c.Client
		cfg.URL = u
		client, err := NewClient(cfg)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", u, err)
		}
		v.viewers = append(v.viewers, &viewer{
			client: client, latency: hdrhistogram.New(1, longest.Microseconds(), 3), report: VisibleReport{URL: u},
		})
	}
	return v, nil
}

func (v *visible) run(ctx context.Context, length time.Duration) {
	if len(v.viewers) == 0 {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); {
		next := time.Now().Add(visibleEvery)
		v.once(ctx)
		if !sleepUntil(ctx, timer, next) {
			return
		}
	}
}

// once writes a score that was never written before. A write that is refused is not looked for.
func (v *visible) once(ctx context.Context) {
	v.serial++
	user := rankcore.UserID(fmt.Sprintf("visible-%d", v.serial%visibleProbes))
	op := rankcore.Op{ID: fmt.Sprintf("visible-%d", v.serial), User: user, Kind: rankcore.OpSet, Value: rankcore.Score(v.serial)}
	a, err := v.writer.call(ctx, "POST", "/v1/boards/"+string(v.board.ID)+"/scores", appendBody(nil, v.board, []rankcore.Op{op}))
	acked := time.Now()
	if err != nil || a.status != 202 {
		return
	}
	var looking sync.WaitGroup
	for _, w := range v.viewers {
		looking.Go(func() { w.look(ctx, v.board, op, acked) })
	}
	looking.Wait()
}

func (w *viewer) look(run context.Context, b *rankcore.Board, op rankcore.Op, acked time.Time) {
	ctx, cancel := context.WithDeadline(run, acked.Add(visibleWithin))
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s, err := w.client.Rank(ctx, rankcore.RankQuery{Board: b, Season: "all", User: op.User})
		now := time.Now()
		if err == nil && s.Score == op.Value {
			w.report.Writes++
			_ = w.latency.RecordValue(max(now.Sub(acked), time.Microsecond).Microseconds())
			return
		}
		if !sleepUntil(ctx, timer, now.Add(visibleLook)) {
			if run.Err() == nil { // else nobody looked to the end
				w.report.Writes++
				w.report.Missed++
			}
			return
		}
	}
}

// reports closes the connections and tells what was seen.
func (v *visible) reports() (list []VisibleReport) {
	v.writer.Close()
	for _, w := range v.viewers {
		w.client.Close()
		w.report.LatencyUS = latencyOf(w.latency)
		list = append(list, w.report)
	}
	return list
}
