package ingest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"rankgate/rankcore"
)

// reference is a message this process knows to be stored. As long as the log has it, the log is the one that
// gave the acknowledgements before it; if not, what it lost is recorded for the shards and told.
type reference struct {
	log *Log

	// mu is held over a whole check: the first acknowledgement after a reconnect waits for its verdict.
	mu         sync.Mutex
	newest     stored // the highest acknowledged message; its time is not known before a check
	checked    stored // what newest was at the last check
	connection uint64 // reconnects when the log was last verified
	since      int64  // the server's clock when this log was first verified, Unix milliseconds; 0: never
}

// confirm turns an acknowledgement into a write position. The log is checked first when the connection is
// another one than it was verified on, or when the sequence is not a new one.
func (r *reference) confirm(ctx context.Context, ack stored, connection uint64) (WritePosition, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.log.stream.reconnects()
	if r.since == 0 || r.connection != now || connection != now || ack.Seq <= r.checked.Seq {
		if err := r.verify(ctx, connection == now); err != nil {
			return WritePosition{}, fmt.Errorf("%w: stored, but the log could not be verified; safe to send again with the same ids: %w", ErrLogUnavailable, err)
		}
	}
	if ack.Seq > r.newest.Seq {
		r.newest = ack
	}
	return WritePosition{Seq: ack.Seq, Since: r.since, Name: rankcore.Position{Seq: ack.Seq, Time: r.since * 1e6}}, nil
}

// check verifies the log.
func (r *reference) check(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verify(ctx, false)
}

// verify looks the newest acknowledged message up. appended says that this process appended a message after
// the doubt arose: a server that confirmed it does not answer from an old view.
func (r *reference) verify(ctx context.Context, appended bool) error {
	s := r.log.stream
	connection := s.reconnects()
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	have, lost, err := r.find(ctx, appended)
	if err != nil {
		return err
	}
	switch {
	case lost:
		if have, err = r.record(ctx); err != nil {
			return err
		}
	case have.IsNone() && v.last > 0: // nothing acknowledged yet: the newest of anybody serves
		if have, err = s.messageAt(ctx, v.last); err != nil {
			return err
		}
	}
	r.newest, r.checked = have, have
	if r.since == 0 || lost || r.connection != connection {
		r.since = v.at.UnixMilli()
	}
	r.connection = connection
	return nil
}

// find reads the reference back, or reports that the log proves not to have it any more.
func (r *reference) find(ctx context.Context, appended bool) (have stored, lost bool, err error) {
	if r.newest.IsNone() {
		return stored{}, false, nil
	}
	s := r.log.stream
	have, err = s.messageAt(ctx, r.newest.Seq)
	if err != nil || have.is(r.newest) {
		return have, false, err
	}
	if !appended && len(r.log.cfg.Boards) > 0 {
		// The answer may be an old view. A message of our own shows that the next one is not.
		probe := rankcore.Message{Mark: rankcore.MarkProbe, Nonce: rand.Text()}
		if _, err := s.mark(ctx, r.log.cfg.Boards[0], probe); err != nil {
			return stored{}, false, err
		}
		have, err = s.messageAt(ctx, r.newest.Seq)
	}
	return have, err == nil && !have.is(r.newest), err
}

// record tells every board's shards, and the operator, that the log lost something. The record is the next reference.
func (r *reference) record(ctx context.Context) (stored, error) {
	gone := r.newest.Position
	r.log.cfg.Logger.Error("the log no longer has a message it confirmed: acknowledged operations may be gone", "message", gone.String())
	var last stored
	for _, b := range r.log.cfg.Boards {
		p, err := r.log.stream.mark(ctx, b, rankcore.Message{Mark: rankcore.MarkLost, Gone: gone})
		if err != nil {
			return stored{}, err
		}
		last = stored{Position: p}
		r.log.metrics.lost.Inc()
	}
	return last, nil
}
