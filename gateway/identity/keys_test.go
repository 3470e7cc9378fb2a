package identity

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// issuer publishes keys; nil: it is down.
type issuer struct {
	*httptest.Server
	keys atomic.Pointer[[]json.RawMessage]
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		keys := i.keys.Load()
		if keys == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"keys": *keys}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(keys ...json.RawMessage) { i.keys.Store(&keys) }

// tokens judges by the issuer's keys, and runs until the test ends.
func (i *issuer) tokens(t *testing.T) *Tokens {
	t.Helper()
	tokens := newTokens(t, TokenConfig{JWKSURL: i.URL})
	tokens.keys.retry = 10 * time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tokens.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return tokens
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func TestPublishedKeysAreBelieved(t *testing.T) {
	i, key := newIssuer(t), newKey(t)
	i.publish(json.RawMessage(`{"kty":"unheard of","kid":"0"}`), jwk(t, "1", key))
	tokens := i.tokens(t)
	for _, kid := range []string{"1", ""} {
		c, err := tokens.Caller(sign(t, jwt.SigningMethodRS256, key, kid, good(nil)))
		if err != nil || c.Subject != "ann" {
			t.Errorf("kid %q: %+v, %v", kid, c, err)
		}
	}
	for name, token := range map[string]string{
		"the public key as a secret": sign(t, jwt.SigningMethodHS256, publicPEM(t, key), "1", good(nil)),
		"the modulus as a secret":    sign(t, jwt.SigningMethodHS256, key.N.Bytes(), "1", good(nil)),
		"another key":                sign(t, jwt.SigningMethodRS256, newKey(t), "1", good(nil)),
		"an unknown key":             sign(t, jwt.SigningMethodRS256, key, "2", good(nil)),
		"no signature":               sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "1", good(nil)),
	} {
		if c, err := tokens.Caller(token); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// An issuer that is down at the start is asked again, one that goes down later takes nothing away, and a new
// key is learned from the first token that it signed.
func TestKeysAreReadAgain(t *testing.T) {
	i, first, second := newIssuer(t), newKey(t), newKey(t)
	tokens := i.tokens(t)
	if _, err := tokens.Caller(sign(t, jwt.SigningMethodRS256, first, "1", good(nil))); !errors.Is(err, ErrNoKeys) || tokens.Keys() != KeysUnknown {
		t.Errorf("without keys: %v, %v", err, tokens.Keys())
	}
	i.publish(jwk(t, "1", first))
	accepted := func(key *rsa.PrivateKey, kid string) func() bool {
		return func() bool {
			_, err := tokens.Caller(sign(t, jwt.SigningMethodRS256, key, kid, good(func(c jwt.MapClaims) { c["jti"] = time.Now().String() })))
			return err == nil
		}
	}
	eventually(t, "the issuer is up", accepted(first, "1"))
	i.publish(jwk(t, "2", second))
	eventually(t, "a new key", accepted(second, "2"))
	eventually(t, "the old key is gone", func() bool { return !accepted(first, "1")() })
	eventually(t, "the keys are known", func() bool { return tokens.Keys() == KeysKnown })
	i.keys.Store(nil)
	accepted(newKey(t), "3")() // makes the keys be read
	eventually(t, "the keys are old", func() bool { return tokens.Keys() == KeysOld })
	if !accepted(second, "2")() {
		t.Error("an issuer that is down took its keys away")
	}
}

func TestProxies(t *testing.T) {
	var p Proxies
	for _, text := range []string{"10.0.0.0/8", "127.0.0.1", "2001:db8::/32", "::ffff:192.0.2.1"} {
		prefix, err := ParseProxy(text)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, prefix)
	}
	for addr, trusted := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "127.0.0.1": true, "127.0.0.2": false, "11.0.0.1": false,
		"2001:db8::1": true, "2001:db9::1": false, "::1": false, "192.0.2.1": true,
	} {
		if p.Trusts(netip.MustParseAddr(addr)) != trusted {
			t.Errorf("%s: trusted %v", addr, !trusted)
		}
	}
	if (Proxies{}).Trusts(netip.MustParseAddr("127.0.0.1")) {
		t.Error("nobody was named, and somebody is trusted")
	}
	for _, text := range []string{"", "proxy.internal", "10.0.0.0/33", "10.0.0.1:80", "*"} {
		if _, err := ParseProxy(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
