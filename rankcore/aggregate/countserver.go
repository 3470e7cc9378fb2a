package aggregate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"rankgate/rankcore"
)

// Index knows how many members of a board stand at each key, while this process applies the board and the index is
// ready. Its methods are those of a store's counter.
type Index interface {
	Above(ctx context.Context, q rankcore.AboveQuery) (rankcore.Above, error)
	Head(ctx context.Context, q rankcore.HeadQuery) (rankcore.Head, error)
	Stretch(ctx context.Context, q rankcore.StretchQuery) (rankcore.Stretch, error)
	Places(ctx context.Context, q rankcore.PlacesQuery) (rankcore.Places, error)
	Segments(ctx context.Context, board rankcore.BoardID, season rankcore.SeasonID) (rankcore.SegmentCounts, error)
	// Ready reports whether questions about the board can be answered now.
	Ready(board rankcore.BoardID) bool
}

// countAtOnce bounds the questions about counts that are answered at one time; more are refused. They wait neither
// for shards nor for those who ask for rows.
const countAtOnce = 1024

// tellWithin bounds how long a question about counts waits for steps under way. Then the asker still hears of it.
const tellWithin = 40 * time.Millisecond

// errNotReady: nothing can be told of the board.
var errNotReady = errors.New("the count index is not ready")

// takeCount answers a question about counts beside the others.
func (s *Server) takeCount(b *board, m *nats.Msg) {
	if !s.beside(s.countPlaces, func() { s.respondCount(b, m) }) {
		s.refuseCount(m, errCrowded)
	}
}

func (s *Server) respondCount(b *board, m *nats.Msg) {
	answer, err := s.count(b, m.Data)
	if most := s.cfg.Conn.MaxPayload(); err == nil && int64(len(answer)) > most {
		err = fmt.Errorf("%d bytes of counts, and NATS takes %d", len(answer), most)
	}
	if err != nil {
		s.refuseCount(m, err)
		return
	}
	s.metrics.counts.Inc()
	_ = m.Respond(answer) // unanswered, the asker asks the shards
}

func (s *Server) refuseCount(m *nats.Msg, because error) {
	s.metrics.countsRefused.Inc()
	s.cfg.Logger.Debug("a question about counts is refused", "subject", m.Subject, "because", because)
	_ = m.Respond([]byte{version, refused})
}

// count is the payload for a question. The question was sent before the index is asked, so that what the index says of
// that moment holds for the asker's, too.
func (s *Server) count(b *board, asked []byte) ([]byte, error) {
	q, err := decodeQuestion(asked)
	if err != nil {
		return nil, err
	}
	if q.shard >= b.Shards {
		return nil, fmt.Errorf("shard %d of %d", q.shard, b.Shards)
	}
	ctx, cancel := context.WithTimeout(s.ctx, tellWithin)
	defer cancel()
	answer, err := countOf(ctx, s.cfg.Index, b.Board, q)
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, rankcore.ErrMoved):
		return []byte{version, moved}, nil
	case s.cfg.Index.Ready(b.ID):
		return []byte{version, unknown}, nil
	default:
		return nil, errNotReady
	}
}

// countOf is the index's answer, ready to be sent.
func countOf(ctx context.Context, index Index, b *rankcore.Board, q question) ([]byte, error) {
	to := []byte{version, answered}
	switch q.kind {
	case askAbove:
		a, err := index.Above(ctx, rankcore.AboveQuery{Board: b, Season: q.season, Key: q.n, Shard: q.shard, Changed: q.changed})
		return appendAbove(to, a), err
	case askHead:
		h, err := index.Head(ctx, rankcore.HeadQuery{Board: b.ID, Season: q.season, Rows: q.n})
		return appendHead(to, h), err
	case askStretch:
		st, err := index.Stretch(ctx, rankcore.StretchQuery{
			Board: b.ID, Season: q.season, Key: q.n, End: q.end, Back: q.back, Forth: q.forth, Seen: q.seen,
		})
		return appendStretch(to, st), err
	case askPlaces:
		p, err := index.Places(ctx, rankcore.PlacesQuery{Board: b.ID, Season: q.season, Keys: q.keys, Seen: q.seen})
		return appendPlaces(to, p), err
	default:
		c, err := index.Segments(ctx, b.ID, q.season)
		return appendSegments(to, c), err
	}
}
