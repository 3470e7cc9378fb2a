package ingest

import (
	"context"

	"rankgate/rankcore"
)

// opening says whether a position stands in the log.
type opening uint8

const (
	found   opening = iota // the session stands behind the position
	trimmed                // the log no longer reaches back to it
	missing                // the log does not have it: its tail was lost, it was recreated, or the view is old
)

// prove opens a session behind p, after the log itself has shown the message named p: a sequence alone proves
// nothing, since sequences are handed out again after a loss. Only with found is there a session.
func (s stream) prove(ctx context.Context, b *rankcore.Board, p rankcore.Position) (*session, opening, error) {
	ss, err := s.open(ctx, b.ID, from{seq: p.Seq})
	if err != nil {
		return nil, missing, err
	}
	what, err := ss.provenAt(ctx, p)
	if err != nil || what != found {
		ss.close()
		return nil, what, err
	}
	return ss, found, nil
}

func (ss *session) provenAt(ctx context.Context, p rankcore.Position) (opening, error) {
	if p.IsNone() {
		if ss.opened.first > ss.opened.startOf(ss.board) {
			return trimmed, nil
		}
		return found, nil
	}
	e, err := ss.one(ctx)
	if err != nil {
		return missing, err
	}
	if e != nil && e.Position == p {
		return found, nil
	}
	v, err := ss.stream.look(ctx)
	if err != nil {
		return missing, err
	}
	if v.first > p.Seq {
		return trimmed, nil
	}
	return missing, nil
}
