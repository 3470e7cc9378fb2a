package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

// wholeMessage is the index of a dead letter that is a whole message.
const wholeMessage = -1

// deadLetter is an operation, or a message, that can never apply. That is decided from the message alone.
type deadLetter struct {
	at     rankcore.Position
	index  int
	reason string
	body   []byte // the whole message
}

// letter is how a dead letter is stored.
type letter struct {
	Board    rankcore.BoardID `json:"board"`
	Position string           `json:"position"`
	Index    int              `json:"index"` // of the operation in the message; -1: the whole message
	Reason   string           `json:"reason"`
	Message  []byte           `json:"message,omitempty"` // base64
}

// deadBody bounds what of a message goes along.
const deadBody = 64 << 10

// bury stores dead letters. Their stream is made again when somebody removed it: they must not hold up what can apply.
func (l *Log) bury(ctx context.Context, id rankcore.BoardID, dead []deadLetter) error {
	err := l.stream.bury(ctx, id, dead)
	if !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders) {
		return err
	}
	if err := l.settleStream(ctx, l.wantedDead()); err != nil {
		return fmt.Errorf("stream %s: %w", DeadStreamName, err)
	}
	return l.stream.bury(ctx, id, dead)
}

// bury stores dead letters under message ids of their own, so that reading the same messages again does not
// store them twice within the stream's window. A run's position passes only after it succeeded.
func (s stream) bury(ctx context.Context, id rankcore.BoardID, dead []deadLetter) error {
	ctx, cancel := context.WithTimeout(ctx, 5*askPatience)
	defer cancel()
	waiting := make([]jetstream.PubAckFuture, 0, len(dead))
	for i, d := range dead {
		l := letter{Board: id, Position: d.at.String(), Index: d.index, Reason: d.reason}
		if i == 0 || dead[i-1].at != d.at { // once for the message is enough
			l.Message = d.body[:min(len(d.body), deadBody)]
		}
		body, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		future, err := s.js.PublishMsgAsync(&nats.Msg{Subject: deadSubjects + string(id), Data: body},
			jetstream.WithExpectStream(DeadStreamName),
			jetstream.WithMsgID(fmt.Sprintf("%s.%d.%d.%d", id, d.at.Seq, d.at.Time, d.index)))
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		waiting = append(waiting, future)
	}
	for _, future := range waiting {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			return fmt.Errorf("dead letter: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("dead letter: %w", ctx.Err())
		}
	}
	return nil
}
