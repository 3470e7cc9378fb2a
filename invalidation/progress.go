package invalidation

import (
	"context"
	"fmt"
	"time"

	"rankgate/rankcore"
)

// Progress is the newest that was heard of a board, with CaughtUp by the local clock, and when it was heard.
// When several appliers tell of the board, the best of the recent ones answers. It is false when no beacon
// has told of the board.
func (l *Listener) Progress(id rankcore.BoardID) (rankcore.Progress, time.Time, bool) {
	view := l.boards[id]
	if view == nil {
		return rankcore.Progress{}, time.Time{}, false
	}
	best, ok := view.newest()
	return best.progress, best.heard, ok
}

// Applied waits until a beacon or a broadcast says that an applier has passed at, by sequence and by time.
// What it changed has been evicted by then. It fails with ctx's error, or when the board is not listened to.
func (l *Listener) Applied(ctx context.Context, id rankcore.BoardID, at rankcore.Position) error {
	view := l.boards[id]
	if view == nil {
		return fmt.Errorf("board %q is not listened to", id)
	}
	return view.wait(ctx, at)
}
