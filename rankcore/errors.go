package rankcore

import "errors"

// ErrNotRanked: the user has no score in that season, or is hidden.
var ErrNotRanked = errors.New("user not ranked")

// ErrUnavailable: the core could not answer in time, was not asked because its breaker is open, or does
// not have the whole board now. An older answer may be served instead. Unavailable carries the reason.
var ErrUnavailable = errors.New("rank core unavailable")

// ErrBusy, as the cause of an Unavailable: this process had too much to do to ask. It tells nothing of the core.
var ErrBusy = errors.New("too busy to ask")

// Unavailable is an ErrUnavailable with its reason, for the answer, and its cause, for the log.
type Unavailable struct {
	Reason Reason
	Cause  error
}

func (u *Unavailable) Error() string {
	if u.Cause == nil {
		return "rank core unavailable: " + string(u.Reason)
	}
	return "rank core unavailable: " + string(u.Reason) + ": " + u.Cause.Error()
}

// Is makes errors.Is(err, ErrUnavailable) hold.
func (u *Unavailable) Is(target error) bool { return target == ErrUnavailable }

func (u *Unavailable) Unwrap() error { return u.Cause }
