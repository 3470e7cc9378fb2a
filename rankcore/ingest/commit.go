package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

const (
	// maxMessage bounds a message below the 1 MiB that NATS servers take by default.
	maxMessage = 900 << 10
	// headerRoom is what of a server's own bound stays for a message's headers.
	headerRoom = 1 << 10
	// maxWaiting bounds what waits for the log on one board: about a second of a fast disk.
	maxWaiting = 16 << 20
	// attemptPatience is how long one publish may go unanswered before it is sent again under the same id.
	attemptPatience = time.Second
	// commitPatience is how long a message is tried in all before its callers are told.
	commitPatience = 3 * time.Second
	// retryPause stands between two attempts when the answer came at once, and was no.
	retryPause = 50 * time.Millisecond
	// failingFor is how long health remembers a failed append that no other one followed.
	failingFor = time.Minute
)

// request is one Append on its way. Its operations are encoded, without the frame around them.
type request struct {
	body []byte
	ops  int
	gone <-chan struct{} // closed when its caller no longer waits
	done chan result     // room for one
}

type result struct {
	at  WritePosition
	err error
}

// committer appends to one board. One message is in flight; what arrives meanwhile is merged into the next.
type committer struct {
	log   *Log
	board *rankcore.Board
	wake  chan struct{} // room for one
	full  atomic.Bool   // the last message was refused for want of room
	down  atomic.Bool   // the last message was given up
	gave  atomic.Int64  // when, Unix nanoseconds; 0: the last message was stored

	// mu guards waiting, bytes and closed. Never held while anything is sent.
	mu      sync.Mutex
	waiting []*request
	bytes   int
	closed  bool
}

func newCommitter(l *Log, b *rankcore.Board) *committer {
	return &committer{log: l, board: b, wake: make(chan struct{}, 1)}
}

// Append stores 1 to rankcore.MaxOps checked operations of a configured board and returns where, once they are
// as durable as the log's server makes them. Operations without an id are given one, in ops: they keep it over
// retries. It fails with ErrLogUnavailable (ErrLogFull is one), also when ctx ends first; then the operations
// may or may not be stored, and sending the same ones again is safe.
func (l *Log) Append(ctx context.Context, b *rankcore.Board, ops []rankcore.Op) (WritePosition, error) {
	c := l.committers[b.ID]
	if c == nil || len(ops) == 0 || len(ops) > rankcore.MaxOps {
		return WritePosition{}, fmt.Errorf("append of %d operations to board %q: not a write this log takes", len(ops), b.ID)
	}
	if c.down.Load() && !l.cfg.Conn.IsConnected() {
		return WritePosition{}, fmt.Errorf("not connected to the log: %w", ErrLogUnavailable)
	}
	giveIDs(ops)
	r := &request{body: encode(b, ops), ops: len(ops), gone: ctx.Done(), done: make(chan result, 1)}
	if err := c.enqueue(r); err != nil {
		return WritePosition{}, err
	}
	select {
	case done := <-r.done:
		return done.at, done.err
	case <-ctx.Done():
		return WritePosition{}, fmt.Errorf("%w: no answer in time; unknown, safe to send again with the same ids: %w", ErrLogUnavailable, ctx.Err())
	}
}

// giveIDs gives operations without an id one that nobody else has.
func giveIDs(ops []rankcore.Op) {
	prefix := ""
	for i := range ops {
		if ops[i].ID != "" {
			continue
		}
		if prefix == "" {
			prefix = rand.Text() + "."
		}
		ops[i].ID = prefix + strconv.Itoa(i)
	}
}

// frame is what stands around the operations of a message.
var frameHead, frameTail = func() (string, string) {
	whole := string(rankcore.AppendMessage(nil, &rankcore.Board{}, nil))
	return whole[:len(whole)-2], whole[len(whole)-2:]
}()

func encode(b *rankcore.Board, ops []rankcore.Op) []byte {
	whole := rankcore.AppendMessage(make([]byte, 0, 32+96*len(ops)), b, ops)
	return whole[len(frameHead) : len(whole)-len(frameTail)]
}

func (c *committer) enqueue(r *request) error {
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return fmt.Errorf("the log is closing: %w", ErrLogUnavailable)
	case c.bytes+len(r.body) > maxWaiting:
		c.mu.Unlock()
		c.log.metrics.refused.Inc()
		return fmt.Errorf("too much waits for the log: %w", ErrLogUnavailable)
	}
	c.waiting = append(c.waiting, r)
	c.bytes += len(r.body)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}

// next takes what waits into one message, in the order it came, never splitting a request.
func (c *committer) next() (message []*request, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := maxMessage
	if most := int(c.log.cfg.Conn.MaxPayload()); most > headerRoom { // 0 before the first connect
		limit = min(limit, most-headerRoom)
	}
	ops, taken := 0, 0
	size = len(frameHead) + len(frameTail)
	for _, r := range c.waiting {
		if taken > 0 && (ops+r.ops > rankcore.MaxOps || size+1+len(r.body) > limit) {
			break
		}
		taken++
		c.bytes -= len(r.body)
		select {
		case <-r.gone: // nobody waits any more, and nothing of it has been sent
			continue
		default:
		}
		ops += r.ops
		size += 1 + len(r.body)
		message = append(message, r)
	}
	c.waiting = append(c.waiting[:0:0], c.waiting[taken:]...)
	return message, size
}

func (c *committer) run(ctx context.Context) {
	defer c.close()
	select {
	case <-ctx.Done():
		return
	case <-c.log.ready:
	}
	var payload []byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for ctx.Err() == nil {
			message, size := c.next()
			if len(message) == 0 {
				break
			}
			payload = c.frame(payload[:0], message, size)
			c.commit(ctx, message, payload)
		}
	}
}

// close answers everyone who still waits.
func (c *committer) close() {
	c.mu.Lock()
	rest := c.waiting
	c.waiting, c.closed = nil, true
	c.mu.Unlock()
	for _, r := range rest {
		r.done <- result{err: fmt.Errorf("the log is closing, nothing stored: %w", ErrLogUnavailable)}
	}
}

func (c *committer) frame(dst []byte, message []*request, size int) []byte {
	if cap(dst) < size {
		dst = make([]byte, 0, size)
	}
	dst = append(dst, frameHead...)
	for i, r := range message {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.body...)
	}
	return append(dst, frameTail...)
}

// commit publishes one message and answers its callers.
func (c *committer) commit(ctx context.Context, message []*request, payload []byte) {
	start := time.Now()
	at, err := c.send(ctx, message, payload)
	c.full.Store(errors.Is(err, ErrLogFull))
	c.tell(err)
	m := &c.log.metrics
	if err != nil {
		m.failed.Inc()
	} else {
		m.commitSeconds.Observe(time.Since(start).Seconds())
		m.messages.Inc()
	}
	for _, r := range message {
		if err == nil {
			m.ops.Add(float64(r.ops))
		}
		r.done <- result{at: at, err: err}
	}
}

// tell keeps what became of the last message for health, and logs when that changes: each caller only hears that
// writes are not to be had, and the stream may look well while nothing can be appended, as with a full disk.
func (c *committer) tell(err error) {
	was := c.down.Swap(err != nil)
	if err == nil {
		c.gave.Store(0)
		if was {
			c.log.cfg.Logger.Info("appends succeed again", "board", c.board.ID)
		}
		return
	}
	c.gave.Store(time.Now().UnixNano())
	if !was {
		c.log.cfg.Logger.Warn("an append failed", "board", c.board.ID, "err", err)
	}
}

// failing reports whether the last message failed, and lately: when nobody writes, nothing more is known.
func (c *committer) failing() bool {
	gave := c.gave.Load()
	return gave != 0 && time.Since(time.Unix(0, gave)) < failingFor
}

// send publishes until there is an answer, always under the same message id, so that a lost answer never
// stores the message twice.
func (c *committer) send(ctx context.Context, message []*request, payload []byte) (WritePosition, error) {
	id := rand.Text()
	give := time.Now().Add(commitPatience)
	sent := false
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptPatience)
		connection := c.log.stream.reconnects()
		ack, err := c.log.stream.publish(attempt, subjectOf(c.board.ID), payload, id)
		cancel()
		if err == nil {
			return c.log.reference.confirm(ctx, stored{Position: rankcore.Position{Seq: ack.Sequence}, id: id}, connection)
		}
		if isFull(err) {
			return WritePosition{}, fmt.Errorf("%w: %w", ErrLogFull, err)
		}
		sent = sent || mayBeStored(err)
		if ctx.Err() != nil || !time.Now().Before(give) || abandoned(message) {
			unknown := "nothing stored"
			if sent {
				unknown = "unknown, safe to send again with the same ids"
			}
			return WritePosition{}, fmt.Errorf("%w: %s: %w", ErrLogUnavailable, unknown, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

func abandoned(message []*request) bool {
	for _, r := range message {
		select {
		case <-r.gone:
		default:
			return false
		}
	}
	return true
}
