package identity

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Bounds of what is remembered of tokens that were valid: checking a signature costs 10 to 100 times as much.
const (
	maxVerified = 16 << 10        // tokens in each of two generations
	believeFor  = 5 * time.Minute // so that a key that was withdrawn counts no longer than this
)

// verified are tokens that were valid, by their hash. When a generation is full the older one is forgotten. The
// zero value is empty. Safe for concurrent use.
type verified struct {
	// mu guards what follows. Never held while a signature is checked.
	mu         sync.Mutex
	young, old map[[sha256.Size]byte]belief
}

type belief struct {
	caller Caller
	until  time.Time
}

func (v *verified) get(token string, now time.Time) (Caller, bool) {
	sum := sha256.Sum256([]byte(token))
	v.mu.Lock()
	defer v.mu.Unlock()
	b, ok := v.young[sum]
	if !ok {
		b, ok = v.old[sum]
	}
	return b.caller, ok && now.Before(b.until)
}

func (v *verified) put(token string, c Caller, expires, now time.Time) {
	until := now.Add(believeFor)
	if expires.Before(until) {
		until = expires
	}
	sum := sha256.Sum256([]byte(token))
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.young) >= maxVerified || v.young == nil {
		v.old, v.young = v.young, make(map[[sha256.Size]byte]belief)
	}
	v.young[sum] = belief{c, until}
}
