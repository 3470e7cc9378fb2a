package quota

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"time"
)

// Bounds of a unit's life.
const (
	HeldFor = 10 * time.Second // a reservation that is not confirmed lapses after this time
	KeptFor = 60 * time.Second // a confirmed request's id is known for this time, with its answer
)

// Claim is a request for one unit.
type Claim struct {
	Account string      // whose units, as AccountOf names them
	ID      string      // of the request, as RequestOf names it; two requests with one id cost one unit
	Limit   int         // units a day; positive
	Days    []time.Time // where days begin, as DaysAround tells
}

// Grant is what a Store says to a Claim.
type Grant struct {
	Granted bool      // to Reserve: a unit is held, or was confirmed; to Confirm: the unit is spent
	Kept    []byte    // the answer that a request of this id was confirmed with first, if it left one
	Used    int       // units of the day that are spent or held, this claim's included
	Now     time.Time // the store's clock, which told the day
	Start   time.Time // where the day begins
	Reset   time.Time // where it ends
}

// Store keeps what was used. Safe for concurrent use, by any number of gateways at once. Each method is one
// atomic step, returns within ctx's deadline, and may be repeated with the same Claim without counting twice.
// An error means that it is not known whether the step was taken: then there is no exact answer.
type Store interface {
	// Reserve holds a unit for HeldFor. Where no unit is left nothing changes, and Granted is false.
	Reserve(ctx context.Context, c Claim) (Grant, error)
	// Confirm spends the unit that is held and keeps answer, which may be empty, for KeptFor. Where the id was
	// confirmed before, that answer is in Kept. A reservation that has lapsed is not spent: Granted is false.
	Confirm(ctx context.Context, c Claim, answer []byte) (Grant, error)
	// Release gives the unit back, held or spent, while its id is known.
	Release(ctx context.Context, c Claim) error
}

// AccountOf names what a requester has on a board. The name is of fixed length and free of the requester's bytes.
func AccountOf(board, requester string) string { return nameOf(board, requester) }

// RequestOf names a request that a client may repeat: its key, and everything that the answer depends on, so
// that the same key with another question is another request.
func RequestOf(key string, question ...string) string { return nameOf(append(question, key)...) }

// nameOf is a 132 bit hash of parts, told apart by their lengths.
func nameOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))[:22]
}

// ErrClock: the store's clock is in none of the claim's days, so the gateway's is wrong by more than a day.
var ErrClock = errors.New("the clocks of gateway and quota store differ by more than a day")

// Remaining is how many units of the limit are left.
func (g Grant) Remaining(limit int) int { return max(limit-g.Used, 0) }

// ResetIn is the time from the store's now to the day's end, in whole seconds, rounded up.
func (g Grant) ResetIn() int64 { return int64((g.Reset.Sub(g.Now) + time.Second - 1) / time.Second) }

// Window is how long the day is, in seconds: 23 or 25 hours where the zone changes its clocks.
func (g Grant) Window() int64 { return int64(g.Reset.Sub(g.Start) / time.Second) }
