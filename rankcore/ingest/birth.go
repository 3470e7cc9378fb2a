package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"rankgate/rankcore"
)

// birthKey names the stream's metadata that says where a board's messages begin. A log that has dropped its
// first messages cannot feed an empty shard, except of a board that came later than what was dropped.
const birthKey = "rankgate.first."

// startOf is the sequence below which the log never had a message of the board: 1, unless it is known better.
func (v view) startOf(id rankcore.BoardID) uint64 {
	if seq, err := strconv.ParseUint(v.metadata[birthKey+string(id)], 10, 64); err == nil && seq > 0 {
		return seq
	}
	return 1
}

// knows reports whether some process was ever configured with the board.
func (v view) knows(id rankcore.BoardID) bool { return v.metadata[birthKey+string(id)] != "" }

// birth records where boards begin: at the log's first message, or for a board that is new on a log which has
// already dropped messages, behind what it has. It happens before this process appends anything. A board that
// has messages, or had a beginning before, is not new: when an operator purges the log, its shards are to be
// rebuilt, not to begin again.
func (l *Log) birth(ctx context.Context, v *view) error {
	old := l.seen.Load()
	if old != nil && old.created.Equal(v.created) && maps.Equal(old.metadata, v.metadata) {
		return nil
	}
	add := map[string]string{}
	for _, b := range l.cfg.Boards {
		if v.knows(b.ID) {
			continue
		}
		newest, err := l.stream.newest(ctx, b.ID)
		if err != nil {
			return err
		}
		first := uint64(1)
		if v.first > 1 && newest.IsNone() {
			first = v.last + 1
		}
		add[birthKey+string(b.ID)] = strconv.FormatUint(first, 10)
	}
	if len(add) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	st, err := l.stream.js.Stream(ctx, StreamName)
	if err != nil {
		return fmt.Errorf("record where new boards begin: %w", err)
	}
	cfg := st.CachedInfo().Config
	all := maps.Clone(add)
	maps.Copy(all, cfg.Metadata) // what another process recorded first stays
	cfg.Metadata = all
	if _, err := l.stream.js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("record where new boards begin: %w", err)
	}
	next, err := l.stream.look(ctx)
	if err != nil {
		return err
	}
	for key := range add {
		if next.metadata[key] == "" { // another process wrote at the same time
			return errors.New("record where new boards begin: it was overwritten")
		}
	}
	*v = next
	return nil
}
