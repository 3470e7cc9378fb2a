package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// replies reads scripts' answers as lists that begin with a word.
func replies(cmds []*redis.Cmd) []reply {
	list := make([]reply, len(cmds))
	for i, cmd := range cmds {
		values, err := cmd.Slice()
		switch {
		case err != nil:
			list[i].err = err
		case len(values) == 0:
			list[i].err = errShape(values)
		default:
			list[i].word, list[i].rest = text(values[0]), values[1:]
		}
	}
	return list
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}

// keyOf reads a sorted set's score. It is an integer within ±(2^53-1), which a double holds exactly, however
// the server's version chooses to print it.
func keyOf(v any) (int64, error) {
	s := text(v)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int64(f)) {
		return 0, errors.New("a score is not an integer")
	}
	return int64(f), nil
}

// isReply reports whether err is an answer of a Redis that is there, and not the lack of one.
func isReply(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) && !errors.Is(err, redis.Nil)
}

// unavailable turns what went wrong with a question into the one error readers know, or into the caller's own
// end. A shard that is not ready or has a poisoned key is being
// mended, silence is slowness, and everything else means that the core is down.
func unavailable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	var timeout net.Error
	reason := rankcore.CoreDown
	var known *rankcore.Unavailable
	switch {
	case errors.As(err, &known):
		reason = known.Reason
	case errors.Is(err, redis.ErrPoolTimeout):
		return &rankcore.Unavailable{Reason: rankcore.CoreSlow, Cause: fmt.Errorf("%w: %w", rankcore.ErrBusy, err)}
	case errors.As(err, new(notReady)), redis.HasErrorPrefix(err, "WRONGTYPE"):
		reason = rankcore.ShardRebuilding
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		reason = rankcore.CoreSlow
	}
	return &rankcore.Unavailable{Reason: reason, Cause: err}
}
