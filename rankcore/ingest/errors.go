package ingest

import (
	"errors"
	"fmt"
)

// ErrLogUnavailable: the log did not confirm the operations. Either nothing is stored, or it is unknown;
// the same operations with the same ids may be sent again in both cases.
var ErrLogUnavailable = errors.New("log unavailable")

// ErrLogFull: the log has no room until the shards have caught up or old messages are dropped. Nothing is
// stored. It is an ErrLogUnavailable too.
var ErrLogFull = fmt.Errorf("log full: %w", ErrLogUnavailable)

// The ways a part of the applier ends without a fault of its own; none leaves the package.
var (
	// errSession: the consumer is no longer the one that was opened. What it gave last is not used.
	errSession = errors.New("log session ended")
	// errTrimmed: something behind the last message read may have been dropped unread.
	errTrimmed = errors.New("the log dropped messages that were not read")
	// errBranch: the log has another message where one was read before.
	errBranch = errors.New("the log is not the one that was read")
)
