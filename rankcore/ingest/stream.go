package ingest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rankgate/rankcore"
)

// The log's names on NATS.
const (
	StreamName     = "RANKGATE"
	DeadStreamName = "RANKGATE_DEAD"
	opsSubjects    = "rankgate.ops."
	deadSubjects   = "rankgate.dead."
)

// askPatience bounds one question to the log server.
const askPatience = 2 * time.Second

// stream is the log as its server shows it.
type stream struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

func subjectOf(id rankcore.BoardID) string { return opsSubjects + string(id) }

// view is what the stream's leader said at one moment. Positions in it are of any board.
type view struct {
	first, last uint64
	empty       bool
	bytes       uint64
	at          time.Time // the server's clock
	created     time.Time
	replicas    int
	metadata    map[string]string
	leader      string    // in a cluster: who leads, and
	leads       time.Time // since when
}

func (s stream) look(ctx context.Context) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	st, err := s.js.Stream(ctx, StreamName)
	if err != nil {
		return view{}, fmt.Errorf("ask for the log's state: %w", err)
	}
	info := st.CachedInfo()
	v := view{
		first: info.State.FirstSeq, last: info.State.LastSeq, bytes: info.State.Bytes,
		empty: info.State.Msgs == 0, at: info.TimeStamp, created: info.Created,
		replicas: info.Config.Replicas, metadata: info.Config.Metadata,
	}
	if info.Cluster != nil {
		v.leader = info.Cluster.Leader
		if info.Cluster.LeaderSince != nil {
			v.leads = *info.Cluster.LeaderSince
		}
	}
	return v, nil
}

// reconnects counts how often the connection was lost: a session or a check from before is worth nothing.
func (s stream) reconnects() uint64 { return s.conn.Stats().Reconnects }

// stored is a message the log has, or had.
type stored struct {
	rankcore.Position
	id string // its Nats-Msg-Id, random for what rankgate appends; known before the time is
}

// is reports whether both are the same message. The id decides where both have one: an acknowledgement
// tells a sequence and no time.
func (m stored) is(other stored) bool {
	if m.id != "" && other.id != "" {
		return m.Seq == other.Seq && m.id == other.id
	}
	return m.Position == other.Position
}

// messageAt is the message now at seq, read from the leader; none when there is none.
func (s stream) messageAt(ctx context.Context, seq uint64) (stored, error) {
	return s.get(ctx, fmt.Appendf(nil, `{"seq":%d}`, seq))
}

// newest is the board's newest message, read from the leader; none when there is none.
func (s stream) newest(ctx context.Context, id rankcore.BoardID) (stored, error) {
	return s.get(ctx, fmt.Appendf(nil, `{"last_by_subj":%q}`, subjectOf(id)))
}

// get reads through the leader's API: a direct get may be answered by a replica that lags.
func (s stream) get(ctx context.Context, request []byte) (stored, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	reply, err := s.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+StreamName, request)
	if err != nil {
		return stored{}, fmt.Errorf("read a message of the log: %w", err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Seq    uint64    `json:"seq"`
			Time   time.Time `json:"time"`
			Header []byte    `json:"hdrs"`
		} `json:"message"`
	}
	if err := json.Unmarshal(withoutData(reply.Data), &answer); err != nil {
		return stored{}, fmt.Errorf("read a message of the log: %w", err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return stored{}, nil
	case answer.Error != nil:
		return stored{}, fmt.Errorf("read a message of the log: %w", answer.Error)
	case answer.Message == nil:
		return stored{}, errors.New("read a message of the log: an answer without a message")
	}
	m := stored{Position: rankcore.Position{Seq: answer.Message.Seq, Time: answer.Message.Time.UnixNano()}}
	if header, err := nats.DecodeHeadersMsg(answer.Message.Header); err == nil {
		m.id = header.Get(nats.MsgIdHdr)
	}
	return m, nil
}

// withoutData is the server's answer without the message's own data, which may be a thousand operations that only its
// name is asked of, several times a second. It is base64, so that it ends at the next quote, and no part of the answer
// before it has quotes within.
func withoutData(answer []byte) []byte {
	const field = `"data":"`
	at := bytes.Index(answer, []byte(field))
	if at < 0 {
		return answer
	}
	at += len(field)
	end := bytes.IndexByte(answer[at:], '"')
	if end < 0 {
		return answer
	}
	return append(answer[:at], answer[at+end:]...)
}

// publish stores one message of the log once, however often it is called with the same msgID within the
// stream's duplicate window. The answer came from the right stream.
func (s stream) publish(ctx context.Context, subject string, payload []byte, msgID string) (*jetstream.PubAck, error) {
	ack, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: payload},
		jetstream.WithMsgID(msgID), jetstream.WithExpectStream(StreamName), jetstream.WithRetryAttempts(0))
	if err != nil {
		return nil, err
	}
	if ack.Stream != StreamName {
		return nil, fmt.Errorf("stream %q confirmed, not %q", ack.Stream, StreamName)
	}
	return ack, nil
}

// mark appends a message without operations and returns its name.
func (s stream) mark(ctx context.Context, b *rankcore.Board, m rankcore.Message) (rankcore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*askPatience)
	defer cancel()
	ack, err := s.publish(ctx, subjectOf(b.ID), rankcore.AppendMark(nil, m), rand.Text())
	if err != nil {
		return rankcore.Position{}, fmt.Errorf("append a mark to the log: %w", err)
	}
	have, err := s.messageAt(ctx, ack.Sequence)
	if err == nil && have.IsNone() {
		err = errBranch
	}
	return have.Position, err
}

// isFull reports whether err is the server's refusal to store more.
func isFull(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	return strings.Contains(api.Description, "maximum bytes") || strings.Contains(api.Description, "insufficient") ||
		strings.Contains(api.Description, "no space left")
}

// mayBeStored reports whether a publish that failed with err may have stored its message all the same.
func mayBeStored(err error) bool {
	return !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders) &&
		!errors.Is(err, nats.ErrMaxPayload) && !errors.Is(err, nats.ErrReconnectBufExceeded) && !errors.Is(err, nats.ErrConnectionClosed)
}
