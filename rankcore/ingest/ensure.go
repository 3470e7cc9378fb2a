package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// deadMaxBytes bounds the dead letters; the oldest go first.
	deadMaxBytes = 256 << 20
	// duplicateWindow is how long the stream knows a message id. It must outlast one append's retries and no
	// more: what callers repeat is told apart by operation id, for the board's horizon.
	duplicateWindow = 2 * time.Minute
)

// wanted is the log's stream. It has no MaxAge, since the server would drop by age what no shard has taken
// in; trimmer drops what is old and applied. DiscardNew for the same reason: full is an error, not a loss.
func (l *Log) wanted() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        StreamName,
		Description: "rankgate: the operations of every board",
		Subjects:    []string{opsSubjects + ">"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    l.cfg.MaxBytes,
		MaxMsgs:     -1,
		Replicas:    l.cfg.Replicas,
		Duplicates:  duplicateWindow,
	}
}

func (l *Log) wantedDead() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        DeadStreamName,
		Description: "rankgate: operations that can never apply, with the reason",
		Subjects:    []string{deadSubjects + ">"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		MaxBytes:    deadMaxBytes,
		MaxMsgs:     -1,
		Replicas:    l.cfg.Replicas,
		Duplicates:  duplicateWindow,
	}
}

// ensure returns the log's state and creates what is missing. Another process may do the same at the same time.
func (l *Log) ensure(ctx context.Context) (view, error) {
	if l.seen.Load() == nil {
		if err := l.settle(ctx); err != nil {
			return view{}, err
		}
	}
	v, err := l.stream.look(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if l.seen.Load() != nil {
			l.cfg.Logger.Error("the log's stream is gone; a new one is made, and what was lost is recorded")
		}
		if err := l.settle(ctx); err != nil {
			return view{}, err
		}
		v, err = l.stream.look(ctx)
	}
	if err == nil {
		err = l.birth(ctx, &v)
	}
	return v, err
}

// settle creates the streams, or brings those that are there to the settings the log depends on.
func (l *Log) settle(ctx context.Context) error {
	for _, want := range []jetstream.StreamConfig{l.wanted(), l.wantedDead()} {
		if err := l.settleStream(ctx, want); err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, err)
		}
	}
	return nil
}

func (l *Log) settleStream(ctx context.Context, want jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, 2*askPatience)
	defer cancel()
	st, err := l.stream.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = l.stream.js.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
		st, err = l.stream.js.Stream(ctx, want.Name) // another process was first
	}
	if err != nil {
		return err
	}
	have := st.CachedInfo().Config
	if have.Storage != want.Storage || have.Retention != want.Retention {
		return fmt.Errorf("kept in %v with retention %v; it must be file storage with limits", have.Storage, have.Retention)
	}
	if have.PersistMode != want.PersistMode || have.AllowMsgTTL {
		return errors.New("it confirms before it stores, or lets messages expire by themselves; that cannot be changed, and may lose operations")
	}
	next, changed := settings(have, want)
	if len(changed) == 0 {
		return nil
	}
	if _, err := l.stream.js.UpdateStream(ctx, next); err != nil {
		return fmt.Errorf("change %v: %w", changed, err)
	}
	l.cfg.Logger.Warn("stream settings changed to what the log depends on", "stream", want.Name, "changed", changed)
	return nil
}

// settings is have with everything that could lose or hide messages set as wanted, and the names of those.
// What an operator may choose stays: replicas, compression, placement, metadata.
func settings(have, want jetstream.StreamConfig) (next jetstream.StreamConfig, changed []string) {
	next = have
	fix := func(wrong bool, name string, set func()) {
		if wrong {
			changed = append(changed, name)
			set()
		}
	}
	fix(have.Discard != want.Discard, "discard", func() { next.Discard = want.Discard })
	fix(have.MaxBytes != want.MaxBytes, "max_bytes", func() { next.MaxBytes = want.MaxBytes })
	fix(have.MaxAge != 0, "max_age", func() { next.MaxAge = 0 })
	fix(have.MaxMsgs > 0, "max_msgs", func() { next.MaxMsgs = -1 })
	fix(have.MaxMsgsPerSubject > 0, "max_msgs_per_subject", func() { next.MaxMsgsPerSubject = -1 })
	fix(have.AllowRollup, "allow_rollup_hdrs", func() { next.AllowRollup = false })
	fix(have.NoAck, "no_ack", func() { next.NoAck = false })
	fix(have.Duplicates < want.Duplicates, "duplicate_window", func() { next.Duplicates = want.Duplicates })
	fix(len(have.Subjects) != 1 || have.Subjects[0] != want.Subjects[0], "subjects", func() { next.Subjects = want.Subjects })
	return next, changed
}
