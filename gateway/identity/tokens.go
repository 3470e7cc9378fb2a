package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TokenConfig says which tokens are believed. Either Secret or JWKSURL is given.
type TokenConfig struct {
	Secret   []byte // of HS256
	JWKSURL  string // where the issuer publishes its public keys
	Issuer   string // what iss must be; "": not looked at
	Audience string // what aud must name; "": not looked at
	Log      *slog.Logger
}

// ErrInvalid: the token proves nothing: it is malformed, expired, not yet valid, for somebody else, or not
// signed by a key that is believed.
var ErrInvalid = errors.New("the token is not valid")

// ErrNoKeys: the issuer's keys could not be read yet, so no token can be judged.
var ErrNoKeys = errors.New("the issuer's keys are not known yet")

// Caller is who holds a token.
type Caller struct {
	Subject string   // 1 to 256 bytes
	Scopes  []string // what the issuer lets the holder do
}

// Can reports whether the caller has a scope.
func (c Caller) Can(scope string) bool { return slices.Contains(c.Scopes, scope) }

// maxSubject bounds what stands for a caller.
const maxSubject = 256

// Tokens judges JSON Web Tokens. Safe for concurrent use.
//
// The algorithms follow from what was configured and never from the token: with a secret it is HS256 alone, with
// published keys only those that a public key cannot forge.
type Tokens struct {
	parser *jwt.Parser
	keyOf  jwt.Keyfunc
	keys   *keySet // nil with a secret
	known  verified
}

// NewTokens returns a judge of tokens. With a JWKSURL it knows no key before Run has read them.
func NewTokens(c TokenConfig) (*Tokens, error) {
	t := &Tokens{}
	var methods []string
	switch {
	case len(c.Secret) > 0 && c.JWKSURL == "":
		methods = []string{"HS256"}
		t.keyOf = func(*jwt.Token) (any, error) { return c.Secret, nil }
	case len(c.Secret) == 0 && c.JWKSURL != "":
		methods = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
		t.keys = newKeySet(c.JWKSURL, c.Log)
		t.keyOf = t.keys.keyOf
	default:
		return nil, errors.New("identity: tokens need either a secret or a JWKS URL")
	}
	options := []jwt.ParserOption{jwt.WithValidMethods(methods), jwt.WithExpirationRequired()}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	if c.Audience != "" {
		options = append(options, jwt.WithAudience(c.Audience))
	}
	t.parser = jwt.NewParser(options...)
	return t, nil
}

// Run reads the issuer's keys, and again from time to time, until ctx ends. It returns nil then.
func (t *Tokens) Run(ctx context.Context) error {
	if t.keys == nil {
		<-ctx.Done()
		return nil
	}
	return t.keys.run(ctx)
}

// KeyState is how well the keys are known that tokens are judged by.
type KeyState int

// The states of keys.
const (
	KeysKnown   KeyState = iota
	KeysOld              // they cannot be read now, and those known before go on counting
	KeysUnknown          // they were never read, so no token can be judged
)

// Keys tells how well the keys are known. A secret always is.
func (t *Tokens) Keys() KeyState {
	switch {
	case t.keys == nil:
		return KeysKnown
	case t.keys.keys.Load() == nil:
		return KeysUnknown
	case t.keys.failing.Load():
		return KeysOld
	}
	return KeysKnown
}

// claims are what is read of a token beside what the library checks.
type claims struct {
	jwt.RegisteredClaims
	Scope scopes `json:"scope"`
	SCP   scopes `json:"scp"`
}

// Caller is who holds the token. It fails with ErrInvalid or, only with a JWKSURL, with ErrNoKeys.
func (t *Tokens) Caller(token string) (Caller, error) {
	now := time.Now()
	if c, ok := t.known.get(token, now); ok {
		return c, nil
	}
	var read claims
	_, err := t.parser.ParseWithClaims(token, &read, t.keyOf)
	switch {
	case errors.Is(err, ErrNoKeys):
		return Caller{}, ErrNoKeys
	case err != nil:
		return Caller{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	case read.Subject == "" || len(read.Subject) > maxSubject:
		return Caller{}, fmt.Errorf("%w: sub is not 1 to %d bytes", ErrInvalid, maxSubject)
	}
	c := Caller{Subject: read.Subject, Scopes: append(read.Scope, read.SCP...)}
	t.known.put(token, c, read.ExpiresAt.Time, now)
	return c, nil
}

// scopes are written as one text with spaces between (RFC 8693), or by some issuers as a list.
type scopes []string

func (s *scopes) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*s = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}
