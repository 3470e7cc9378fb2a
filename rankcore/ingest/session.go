package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

const (
	// pullMessages and pullBytes bound what one request to the server brings.
	pullMessages = 1024
	pullBytes    = 8 << 20
	// statusRoom is for the server's own words between the messages.
	statusRoom = 64
	// pullWait is how long the server holds a request when there is nothing: so often an idle session
	// learns that it has everything.
	pullWait = 100 * time.Millisecond
	// pullPatience is how long after that a silent server ends the session.
	pullPatience = 2 * time.Second
	// forgotten is how long the server keeps a consumer that nobody asks.
	forgotten = 30 * time.Second
	// maxRunBytes is where a run of messages ends although more are there: some 30,000 operations.
	maxRunBytes = 2 << 20
)

// session is one consumer instance on a subject of the log, read in order. Anything that could make it
// another instance, or another log behind the same name, ends it: a lost connection, a gap in the consumer's
// own count, a leader change, a silent server. nats.go's ordered consumer would go on by itself at the last
// sequence + 1 and never tell, so it is not used. Not safe for concurrent use.
type session struct {
	stream  stream
	board   rankcore.BoardID
	sub     *nats.Subscription
	in      chan *nats.Msg // what has arrived and is not read yet
	ahead   *nats.Msg      // the first of that, when it was waited for
	pull    string         // subject that asks for more
	reply   string
	opened  view
	links   uint64 // reconnects when it was opened
	serial  uint64 // the consumer's own count of the last message
	pending *entry // read already by open and not yet given

	left int // messages that may still come for the last request; 0: none is out
}

// entry is one message of the log as a session gives it.
type entry struct {
	rankcore.Position
	id      string // Nats-Msg-Id, if it has one
	data    []byte
	pending uint64 // messages behind it when it was sent
}

// from says where a session begins: at a sequence, a time, or with neither at the board's start.
type from struct {
	seq  uint64
	time time.Time
}

// open starts a session. The caller closes it.
func (s stream) open(ctx context.Context, id rankcore.BoardID, at from) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	ss := &session{stream: s, board: id, links: s.reconnects(), in: make(chan *nats.Msg, pullMessages+statusRoom)}
	var err error
	if ss.opened, err = s.look(ctx); err != nil {
		return nil, err
	}
	if at.seq == 0 {
		at.seq = ss.opened.startOf(id)
	}
	cfg := jetstream.ConsumerConfig{
		FilterSubject:     subjectOf(id),
		AckPolicy:         jetstream.AckNonePolicy,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       at.seq,
		MemoryStorage:     true, // it must not outlive the server's process
		InactiveThreshold: forgotten,
	}
	if !at.time.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &at.time
	}
	consumer, err := s.js.CreateConsumer(ctx, StreamName, cfg)
	if err != nil {
		return nil, fmt.Errorf("open a session on the log: %w", err)
	}
	ss.pull = "$JS.API.CONSUMER.MSG.NEXT." + StreamName + "." + consumer.CachedInfo().Name
	ss.reply = nats.NewInbox()
	if ss.sub, err = s.conn.Subscribe(ss.reply, ss.arrive); err != nil {
		return nil, fmt.Errorf("open a session on the log: %w", err)
	}
	if err := ss.sub.SetPendingLimits(-1, -1); err != nil { // a request bounds what comes
		return nil, errors.Join(err, ss.sub.Unsubscribe())
	}
	return ss, nil
}

// arrive is called for every message. A synchronous subscription of nats.go is no choice: it takes a stored
// message with the header "Status: 503" for an error of the request.
func (ss *session) arrive(msg *nats.Msg) {
	select {
	case ss.in <- msg:
	default: // more than was asked for; the gap in the consumer's count ends the session
	}
}

// close ends the subscription; the server forgets the consumer by itself, and at once when it can be told.
func (ss *session) close() {
	if ss == nil {
		return
	}
	_ = ss.sub.Unsubscribe() // fails only when the connection is closed, and then it is gone already
	name := ss.pull[len("$JS.API.CONSUMER.MSG.NEXT."+StreamName+"."):]
	_ = ss.stream.conn.Publish("$JS.API.CONSUMER.DELETE."+StreamName+"."+name, nil)
}

// one returns the next message, or nil when the log has no more.
func (ss *session) one(ctx context.Context) (*entry, error) {
	if ss.pending == nil {
		if err := ss.fill(ctx); err != nil {
			return nil, err
		}
	}
	e := ss.pending
	ss.pending = nil
	return e, nil
}

// fill waits until a message is pending, or until the server says that there is none.
func (ss *session) fill(ctx context.Context) error {
	for ss.pending == nil {
		if ss.left == 0 {
			if err := ss.request(); err != nil {
				return err
			}
		}
		msg, err := ss.next(ctx)
		if err != nil {
			return err
		}
		ended, err := ss.take(msg)
		if err != nil || ended {
			return err
		}
	}
	return nil
}

func (ss *session) next(ctx context.Context) (*nats.Msg, error) {
	if msg := ss.ahead; msg != nil {
		ss.ahead = nil
		return msg, nil
	}
	silent := time.NewTimer(pullWait + pullPatience)
	defer silent.Stop()
	select {
	case msg := <-ss.in:
		return msg, nil
	case <-silent.C:
		return nil, fmt.Errorf("%w: the server is silent", errSession)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errSession, ctx.Err())
	}
}

// ready reports whether something has arrived that can be read without waiting.
func (ss *session) ready() bool {
	return ss.pending != nil || ss.ahead != nil || len(ss.in) > 0
}

// arrival waits until something has arrived, for at most so long if that is positive, or until it is called. It is false
// when nothing can arrive.
func (ss *session) arrival(ctx context.Context, within time.Duration, called <-chan struct{}) bool {
	if ss.left == 0 && ss.request() != nil {
		return false
	}
	var over <-chan time.Time
	if within > 0 {
		over = time.After(within)
	}
	select {
	case ss.ahead = <-ss.in:
	case <-over:
	case <-called:
	case <-ctx.Done():
		return false
	}
	return true
}

func (ss *session) request() error {
	body := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d}`, pullMessages, pullBytes, pullWait.Nanoseconds())
	if err := ss.stream.conn.PublishRequest(ss.pull, ss.reply, body); err != nil {
		return fmt.Errorf("%w: %w", errSession, err)
	}
	ss.left = pullMessages
	return nil
}

// take makes msg the pending message, or reports that the request has ended without one.
func (ss *session) take(msg *nats.Msg) (ended bool, err error) {
	// A stored message comes with a reply subject that tells its name, and the server's own word without one.
	// The header alone does not tell them apart: whoever publishes may set it.
	if msg.Reply == "" {
		status, what := msg.Header.Get("Status"), msg.Header.Get("Description")
		switch {
		case status == "100":
			return false, nil
		case status == "404", status == "408":
			ss.left = 0
			return true, nil
		case status == "409" && (what == "Message Size Exceeds MaxBytes" || what == "Batch Completed"):
			ss.left = 0
			return false, nil // there is more
		}
		return false, fmt.Errorf("%w: %s %s", errSession, status, what)
	}
	meta, err := msg.Metadata()
	if err != nil {
		return false, fmt.Errorf("%w: %w", errSession, err)
	}
	if meta.Sequence.Consumer != ss.serial+1 {
		return false, fmt.Errorf("%w: message %d of the consumer after %d", errSession, meta.Sequence.Consumer, ss.serial)
	}
	ss.serial++
	ss.left--
	ss.pending = &entry{
		Position: rankcore.Position{Seq: meta.Sequence.Stream, Time: meta.Timestamp.UnixNano()},
		id:       msg.Header.Get(nats.MsgIdHdr), data: msg.Data, pending: meta.NumPending,
	}
	return false, nil
}

// same asks whether what was read since prev, by name, can be used: the session is still the one that was opened, and
// nothing behind prev can have been dropped unread. It must be called after the read.
func (ss *session) same(ctx context.Context, prev rankcore.Position, read []rankcore.Position) error {
	if ss.stream.reconnects() != ss.links {
		return fmt.Errorf("%w: reconnected", errSession)
	}
	if ss.opened.replicas <= 1 && len(read) == 0 {
		return nil // one server, and nothing to be used
	}
	if ss.opened.replicas <= 1 && !prev.IsNone() && read[len(read)-1].Seq-prev.Seq == uint64(len(read)) {
		return nil // one server, and not a sequence is missing
	}
	v, err := ss.alive(ctx)
	if err == nil && (prev.IsNone() && v.first > v.startOf(ss.board) || !prev.IsNone() && v.first > prev.Seq) {
		return errTrimmed
	}
	return err
}

// alive returns the log's state, if the session is still the one that was opened.
func (ss *session) alive(ctx context.Context) (view, error) {
	v, err := ss.stream.look(ctx)
	switch {
	case err != nil:
		return v, fmt.Errorf("%w: %w", errSession, err)
	case v.leader != ss.opened.leader || !v.leads.Equal(ss.opened.leads):
		return v, fmt.Errorf("%w: the log has another leader", errSession)
	case !v.created.Equal(ss.opened.created) || v.startOf(ss.board) != ss.opened.startOf(ss.board):
		return v, fmt.Errorf("%w: the log was made anew", errSession)
	case ss.stream.reconnects() != ss.links:
		return v, fmt.Errorf("%w: reconnected", errSession)
	}
	return v, nil
}

// everyBoard opens a session on all subjects of the log.
const everyBoard rankcore.BoardID = ">"

// firstSince is the sequence of the first message stored at or after t, or the next one when there is none.
func (s stream) firstSince(ctx context.Context, t time.Time) (uint64, error) {
	ss, err := s.open(ctx, everyBoard, from{time: t})
	if err != nil {
		return 0, err
	}
	defer ss.close()
	e, err := ss.one(ctx)
	if err != nil || e == nil {
		return ss.opened.last + 1, err
	}
	return e.Seq, nil
}
