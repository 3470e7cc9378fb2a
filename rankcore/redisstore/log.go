package redisstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// go-redis writes each failed dial to stderr in a format of its own. It has one logger for the whole process, which is
// not guarded against change, so it is set before anything runs. Every failure reaches a caller as an error anyway.
func init() { redis.SetLogger(debugLog{}) }

// debugLog hands what go-redis says to the process' own log.
type debugLog struct{}

func (debugLog) Printf(ctx context.Context, format string, v ...any) {
	slog.DebugContext(ctx, fmt.Sprintf(format, v...))
}
