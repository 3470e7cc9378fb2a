package identity

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var secret = []byte("a secret of thirty-two bytes, yes")

func newTokens(t *testing.T, c TokenConfig) *Tokens {
	t.Helper()
	tokens, err := NewTokens(c)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// good are claims that nothing is wrong with; change them.
func good(change func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{
		"sub": "ann", "iss": "https://issuer", "aud": []string{"other", "rankgate"}, "scope": "profile scores:write",
		"exp": time.Now().Add(time.Hour).Unix(),
	}
	if change != nil {
		change(c)
	}
	return c
}

func sign(t *testing.T, m jwt.SigningMethod, key any, kid string, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(m, c)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestATokenIsBelieved(t *testing.T) {
	tokens := newTokens(t, TokenConfig{Secret: secret, Issuer: "https://issuer", Audience: "rankgate"})
	for range 2 { // the second time from memory
		c, err := tokens.Caller(sign(t, jwt.SigningMethodHS256, secret, "", good(nil)))
		if err != nil || c.Subject != "ann" || !c.Can("scores:write") || c.Can("scores") || c.Can("") {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if tokens.Keys() != KeysKnown {
		t.Error("a secret is not known")
	}
	for _, scope := range []any{[]string{"a", "scores:write"}, "scores:write"} {
		c, err := tokens.Caller(sign(t, jwt.SigningMethodHS256, secret, "", good(func(c jwt.MapClaims) { delete(c, "scope"); c["scp"] = scope })))
		if err != nil || !c.Can("scores:write") {
			t.Errorf("scp %v: %+v, %v", scope, c, err)
		}
	}
	if c, err := tokens.Caller(sign(t, jwt.SigningMethodHS256, secret, "", good(func(c jwt.MapClaims) { c["aud"] = "rankgate"; delete(c, "scope") }))); err != nil || len(c.Scopes) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWhatProvesNothingIsRefused(t *testing.T) {
	tokens := newTokens(t, TokenConfig{Secret: secret, Issuer: "https://issuer", Audience: "rankgate"})
	hs := func(change func(jwt.MapClaims)) string {
		return sign(t, jwt.SigningMethodHS256, secret, "", good(change))
	}
	whole := hs(nil)
	parts := strings.Split(whole, ".")
	payload := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"nothing":               "",
		"not a token":           "ann",
		"expired":               hs(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Second).Unix() }),
		"without an end":        hs(func(c jwt.MapClaims) { delete(c, "exp") }),
		"not yet valid":         hs(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Minute).Unix() }),
		"another issuer":        hs(func(c jwt.MapClaims) { c["iss"] = "https://issuer.example" }),
		"no issuer":             hs(func(c jwt.MapClaims) { delete(c, "iss") }),
		"another audience":      hs(func(c jwt.MapClaims) { c["aud"] = "other" }),
		"no audience":           hs(func(c jwt.MapClaims) { delete(c, "aud") }),
		"no subject":            hs(func(c jwt.MapClaims) { delete(c, "sub") }),
		"an empty subject":      hs(func(c jwt.MapClaims) { c["sub"] = "" }),
		"a subject of no text":  hs(func(c jwt.MapClaims) { c["sub"] = 7 }),
		"a long subject":        hs(func(c jwt.MapClaims) { c["sub"] = strings.Repeat("x", 257) }),
		"another secret":        sign(t, jwt.SigningMethodHS256, []byte("another"), "", good(nil)),
		"another algorithm":     sign(t, jwt.SigningMethodHS512, secret, "", good(nil)),
		"RSA where HMAC is due": sign(t, jwt.SigningMethodRS256, private, "", good(nil)),
		"no signature":          sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", good(nil)),
		"an emptied signature":  parts[0] + "." + parts[1] + ".",
		"none with another's":   payload(`{"alg":"none","typ":"JWT"}`) + "." + parts[1] + "." + parts[2],
		"another payload":       parts[0] + "." + payload(`{"sub":"bob","exp":99999999999,"iss":"https://issuer","aud":"rankgate"}`) + "." + parts[2],
	} {
		if c, err := tokens.Caller(token); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestATokenIsNotBelievedForLongerThanItLasts(t *testing.T) {
	var v verified
	now := time.Now()
	v.put("short", Caller{Subject: "ann"}, now.Add(time.Second), now)
	v.put("long", Caller{Subject: "bob"}, now.Add(time.Hour), now)
	for _, c := range []struct {
		token string
		after time.Duration
		known bool
	}{{"short", 999 * time.Millisecond, true}, {"short", time.Second, false}, {"long", believeFor - 1, true}, {"long", believeFor, false}, {"other", 0, false}} {
		if _, known := v.get(c.token, now.Add(c.after)); known != c.known {
			t.Errorf("%s after %v: known %v", c.token, c.after, known)
		}
	}
}

func TestVerifiedTokensAreBounded(t *testing.T) {
	var v verified
	now := time.Now()
	var raw [8]byte
	for range 3*maxVerified + 1 {
		_, _ = rand.Read(raw[:])
		v.put(string(raw[:]), Caller{}, now.Add(time.Hour), now)
	}
	if n := len(v.young) + len(v.old); n > 2*maxVerified {
		t.Errorf("%d tokens are remembered", n)
	}
	if _, known := v.get(string(raw[:]), now); !known {
		t.Error("the newest is forgotten")
	}
}

// publicPEM is what an attacker has: the published key, as bytes that could pass for an HMAC secret.
func publicPEM(t *testing.T, key *rsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// jwk is a key as an issuer publishes it.
func jwk(t *testing.T, kid string, key *rsa.PrivateKey) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(map[string]string{
		"kty": "RSA", "kid": kid, "use": "sig", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": "AQAB",
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
