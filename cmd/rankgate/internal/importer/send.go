package importer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"rankgate/rankcore"
)

const (
	batchRows   = rankcore.MaxOps
	connections = 8 // enough to keep a log that syncs each batch busy
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// SendOptions say where rows go.
type SendOptions struct {
	Server   string // such as http://127.0.0.1:8080
	Board    string
	Key      string        // service credential; "" for none
	Rate     int           // rows per second; 0 for as fast as the server takes them
	Patience time.Duration // how long one batch is tried while the server is away
	Say      func(string)  // what there is to say meanwhile, a line each; nil: nothing
}

// Send sends all rows, best first, and counts them in sent as the server takes them. When it fails, what was
// sent stays; running it again with the same rows is safe.
func Send(ctx context.Context, rows *Rows, b Board, o SendOptions, sent *atomic.Int64) error {
	c, err := newClient(o)
	if err != nil {
		return err
	}
	defer c.http.CloseIdleConnections()
	rows.sort(b.Order)
	limit := rate.NewLimiter(rate.Inf, 0)
	if o.Rate > 0 {
		limit = rate.NewLimiter(rate.Limit(o.Rate), batchRows)
	}
	outage := &outage{patience: o.Patience, say: o.Say}
	batches := make(chan []row)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		for rest := rows.rows; len(rest) > 0; {
			n := min(batchRows, len(rest))
			if err := limit.WaitN(ctx, n); err != nil {
				return err
			}
			select {
			case batches <- rest[:n]:
				rest = rest[n:]
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range connections {
		g.Go(func() error {
			var body []byte
			for batch := range batches {
				body = appendBatch(body[:0], batch, rows.opID(), b.Scale)
				if err := c.persist(ctx, body, outage); err != nil {
					return err
				}
				sent.Add(int64(len(batch)))
			}
			return nil
		})
	}
	return g.Wait()
}

// persist posts one batch until the server decides about it, waiting longer each time.
func (c *client) persist(ctx context.Context, body []byte, o *outage) error {
	began := time.Now()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := c.post(ctx, body)
		if !errors.Is(err, errRetry) {
			o.over(err)
			return err
		}
		if time.Since(began)+wait > o.patience {
			return fmt.Errorf("gave up after %v: %w", o.patience, err)
		}
		if wait >= tellAfter {
			o.lasts(err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func appendBatch(dst []byte, batch []row, id string, scale int) []byte {
	dst = append(dst, `{"ops":[`...)
	for i, r := range batch {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"id":"`...), id...), `","user":`...)
		dst = rankcore.AppendJSONString(dst, string(r.user))
		dst = rankcore.AppendJSONScore(append(dst, `,"set":`...), r.score, scale)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}
