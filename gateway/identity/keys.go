package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// How the issuer's keys are read.
const (
	keysEvery   = 5 * time.Minute // as long as nothing fails
	keysRetry   = 5 * time.Second // after a failure, and at least between two readings
	keysWithin  = 5 * time.Second // one reading
	keysAwaited = 1 * time.Second // how long the first tokens wait for the first reading
	maxKeyBytes = 1 << 20
)

// keySet are an issuer's public keys. Safe for concurrent use.
type keySet struct {
	url    string
	log    *slog.Logger
	client *http.Client
	every  time.Duration // between two readings that went well
	retry  time.Duration // after one that failed, and at least between two

	keys   atomic.Pointer[keyfunc.Keyfunc]
	first  chan struct{} // closed when keys are known
	wanted chan struct{} // holds one wish to read the keys again

	failing atomic.Bool // the newest reading failed
}

func newKeySet(url string, log *slog.Logger) *keySet {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &keySet{
		url: url, log: log, client: &http.Client{Timeout: keysWithin}, every: keysEvery, retry: keysRetry,
		first: make(chan struct{}), wanted: make(chan struct{}, 1),
	}
}

// keyOf is the key that a token says it is signed with. A token with an unknown one makes the keys be read again:
// the issuer may have a new key.
func (k *keySet) keyOf(token *jwt.Token) (any, error) {
	keys := k.keys.Load()
	if keys == nil {
		select {
		case <-k.first:
			keys = k.keys.Load()
		case <-time.After(keysAwaited):
			return nil, ErrNoKeys
		}
	}
	key, err := (*keys).Keyfunc(token)
	if err != nil {
		select {
		case k.wanted <- struct{}{}:
		default:
		}
	}
	return key, err
}

func (k *keySet) run(ctx context.Context) error {
	defer k.client.CloseIdleConnections()
	for {
		pause := k.every + rand.N(k.every/5)
		if err := k.read(ctx); err != nil {
			if ctx.Err() == nil && !k.failing.Swap(true) {
				k.log.Error("the issuer's keys cannot be read; those known before go on counting", "cause", err)
			}
			pause = k.retry + rand.N(k.retry/5)
		} else if k.failing.Swap(false) {
			k.log.Info("the issuer's keys can be read again")
		}
		if !k.wait(ctx, pause) {
			return nil
		}
	}
}

// wait waits until it is time to read again, or sooner when a token wants that. It reports false at ctx's end.
func (k *keySet) wait(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(k.retry):
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause - k.retry):
	case <-k.wanted:
	}
	return true
}

// read replaces the keys by those that the issuer publishes now. On an error the keys stay.
func (k *keySet) read(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := k.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the issuer answers with status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeyBytes))
	if err != nil {
		return err
	}
	keys, err := parseKeys(body)
	if err != nil {
		return err
	}
	if k.keys.Swap(&keys) == nil {
		close(k.first)
	}
	return nil
}

// parseKeys reads a JWK set. Keys of kinds that are not known are left out, as RFC 7517 wants it.
func parseKeys(body []byte) (keyfunc.Keyfunc, error) {
	var all, usable struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("not a JWK set: %w", err)
	}
	for _, one := range all.Keys {
		if _, err := keyfunc.NewJWKJSON(one); err == nil {
			usable.Keys = append(usable.Keys, one)
		}
	}
	if len(usable.Keys) == 0 {
		return nil, errors.New("the JWK set has no key that can be used")
	}
	text, err := json.Marshal(usable)
	if err != nil {
		return nil, err
	}
	return keyfunc.NewJWKSetJSON(text)
}
