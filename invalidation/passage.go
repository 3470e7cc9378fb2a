package invalidation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rankgate/rankcore"
)

// maxPassages bounds what is remembered of one board: some seconds of news. Of a position that was passed before, it
// is only known that it was no later than the oldest.
const maxPassages = 128

// passage is that a source had every shard of the board at a position, and when that was heard, by the local clock.
type passage struct {
	at    rankcore.Position
	heard time.Time
}

// pass remembers that source stands at to with every shard. Where it went back, what it passed before is in doubt.
// Only the Listener's Run calls it.
func (v *view) pass(was, to rankcore.Position, whole bool, now time.Time) {
	passages := *v.passages.Load()
	switch {
	case to.Seq < was.Seq || to.Time < was.Time:
		passages = nil
	case !whole || len(passages) > 0 && passages[len(passages)-1].at == to:
		return
	}
	if whole {
		passages = append(slices.Clip(passages), passage{to, now})
	}
	passages = passages[max(0, len(passages)-maxPassages):]
	v.passages.Store(&passages)
}

// since is when it was first heard that every shard is at or beyond at, by sequence and by time.
func (v *view) since(at rankcore.Position) (time.Time, bool) {
	passages := *v.passages.Load()
	i := slices.IndexFunc(passages, func(p passage) bool { return p.at.Seq >= at.Seq && p.at.Time >= at.Time })
	if i < 0 {
		return time.Time{}, false
	}
	return passages[i].heard, true
}

// Included waits until an applier says that every shard has passed at, by sequence and by time, and returns when
// that was first heard: whatever is read from the shards after it includes the message. It fails with ctx's error,
// or when the board is not listened to.
func (l *Listener) Included(ctx context.Context, id rankcore.BoardID, at rankcore.Position) (time.Time, error) {
	view := l.boards[id]
	if view == nil {
		return time.Time{}, fmt.Errorf("board %q is not listened to", id)
	}
	for {
		view.mu.Lock()
		moved := view.moved
		view.mu.Unlock()
		if heard, ok := view.since(at); ok {
			return heard, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}
