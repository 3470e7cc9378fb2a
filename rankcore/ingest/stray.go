package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

const (
	// straysEvery is how often messages to boards that do not exist are looked for.
	straysEvery = 5 * time.Second
	// straysAtOnce bounds how many of them are put aside together.
	straysAtOnce = 256
)

// strays puts messages to boards that nobody was ever configured with aside as dead letters: nobody else reads
// them. The dead letters themselves tell how far that has come. Should the board be configured later, its
// messages count all the same, as far as the log still has them. A board that another process has, or that was
// taken from the configuration, is none of these: its messages were taken in, or will be.
func (l *Log) strays(ctx context.Context, v view) error {
	if time.Since(l.strayed) < straysEvery || !l.trim.applies() {
		return nil
	}
	l.strayed = time.Now()
	ask, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	st, err := l.stream.js.Stream(ask, StreamName)
	if err != nil {
		return fmt.Errorf("look for messages to unknown boards: %w", err)
	}
	info, err := st.Info(ask, jetstream.WithSubjectFilter(opsSubjects+">"))
	if err != nil {
		return fmt.Errorf("look for messages to unknown boards: %w", err)
	}
	for subject := range info.State.Subjects {
		id := rankcore.BoardID(strings.TrimPrefix(subject, opsSubjects))
		if l.committers[id] == nil && !v.knows(id) {
			if err := l.buryStrays(ctx, id); err != nil {
				return fmt.Errorf("put messages to an unknown board aside: %w", err)
			}
		}
	}
	return nil
}

func (l *Log) buryStrays(ctx context.Context, id rankcore.BoardID) error {
	last, err := l.lastBuried(ctx, id)
	if err != nil {
		return err
	}
	ss, err := l.stream.open(ctx, id, from{seq: last + 1})
	if err != nil {
		return err
	}
	defer ss.close()
	for end := false; !end; {
		var dead []deadLetter
		for len(dead) < straysAtOnce {
			e, err := ss.one(ctx)
			if err != nil {
				return err
			}
			if end = e == nil; end {
				break
			}
			dead = append(dead, deadLetter{at: e.Position, index: wholeMessage, reason: "no such board", body: e.data})
		}
		if err := l.bury(ctx, id, dead); err != nil {
			return err
		}
		l.metrics.strays.Add(float64(len(dead)))
	}
	return nil
}

// lastBuried is the sequence of the board's newest dead letter, if the log still has its message; else 0.
func (l *Log) lastBuried(ctx context.Context, id rankcore.BoardID) (uint64, error) {
	ask, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	st, err := l.stream.js.Stream(ask, DeadStreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	msg, err := st.GetLastMsgForSubject(ask, deadSubjects+string(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var was letter
	if err := json.Unmarshal(msg.Data, &was); err != nil {
		return 0, nil //nolint:nilerr // somebody else's message: from the beginning, then
	}
	at, err := rankcore.ParsePosition(was.Position)
	if err != nil {
		return 0, nil //nolint:nilerr // as above
	}
	have, err := l.stream.messageAt(ctx, at.Seq)
	if err != nil || have.Position != at {
		return 0, err
	}
	return at.Seq, nil
}
