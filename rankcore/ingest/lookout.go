package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rankgate/rankcore"
)

const (
	// lookEvery is the pace of asking while messages keep coming.
	lookEvery = 25 * time.Millisecond
	// maxStalled is how often in a row a session may have nothing although the log has more: some seconds.
	maxStalled = 20
)

// lookout tells when a feed has read everything the log had, by the word of the log's leader. The consumer's
// own is not enough: it may stand on a replica that lags, and right after a restart of its server it was seen
// to say that nothing is pending while it was thousands of operations early.
//
// Under load the newest message is another one at every look. So a look is kept: once the feed has read what
// was the newest then, it had everything at the moment of that look.
type lookout struct {
	stream  stream
	board   rankcore.BoardID
	newest  rankcore.Position // at the look that is kept; none: no look is kept
	at      time.Time         // when that was asked
	looked  time.Time         // when it was last asked
	stalled int               // looks in a row at which the session had nothing and the log more
}

// report completes an item that ends at prev. idle says that the session had nothing to give.
func (o *lookout) report(ctx context.Context, item *fed, prev rankcore.Position) error {
	idle := item.run == nil
	item.end = false
	if idle || time.Since(o.looked) >= lookEvery {
		asked := time.Now()
		m, err := o.stream.newest(ctx, o.board)
		if err != nil {
			return errors.Join(errSession, err)
		}
		o.looked = asked
		if item.end = m.Position == prev; item.end || o.newest.IsNone() {
			o.newest, o.at = m.Position, asked
		}
	}
	if !o.newest.IsNone() && prev.Seq >= o.newest.Seq {
		item.asOf, o.newest = o.at, rankcore.Position{}
	}
	if !idle || item.end {
		o.stalled = 0
		return nil
	}
	if o.stalled++; o.stalled > maxStalled {
		return fmt.Errorf("%w: it has nothing, and the log has more after %v", errSession, prev)
	}
	return nil
}
