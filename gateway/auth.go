package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"rankgate/gateway/identity"
)

// Auth says who may do what.
type Auth struct {
	Users   UserAuth    // who asks for exact ranks
	Service ServiceAuth // who may write
}

// Mode is how a caller is told.
type Mode string

// The modes. The empty one is ModeNone.
const (
	ModeNone   Mode = "none"   // nobody is asked
	ModeKeys   Mode = "keys"   // Authorization: Bearer KEY
	ModeJWT    Mode = "jwt"    // Authorization: Bearer TOKEN
	ModeHeader Mode = "header" // a header that a trusted proxy sets
)

// ServiceAuth says who may write.
type ServiceAuth struct {
	Mode   Mode
	Keys   []ServiceKey     // for ModeKeys, at least one
	Tokens *identity.Tokens // for ModeJWT; the scope scores:write is needed
}

// writeScope is what a token has to allow.
const writeScope = "scores:write"

// writerOfTokens stands in the metrics for every holder of a token: there may be any number of them.
const writerOfTokens = "jwt"

// ServiceKey is a key that may write. The key itself is known to its holder only.
type ServiceKey struct {
	Name   string // for the metrics; not secret
	SHA256 string // of the key, in hexadecimal
}

// serviceKeys are the keys that may write, or the judge of tokens; open when nobody is asked.
type serviceKeys struct {
	open   bool
	keys   []serviceKey
	tokens *identity.Tokens
}

type serviceKey struct {
	name string
	sum  [sha256.Size]byte
}

func newServiceKeys(auth ServiceAuth) (serviceKeys, error) {
	switch auth.Mode {
	case "", ModeNone:
		return serviceKeys{open: true}, nil
	case ModeJWT:
		if auth.Tokens == nil {
			return serviceKeys{}, errors.New("gateway: service auth by tokens needs their judge")
		}
		return serviceKeys{tokens: auth.Tokens}, nil
	case ModeKeys:
	default:
		return serviceKeys{}, fmt.Errorf("gateway: unknown service auth mode %q", auth.Mode)
	}
	if len(auth.Keys) == 0 {
		return serviceKeys{}, errors.New("gateway: service auth by keys needs a key")
	}
	var s serviceKeys
	for _, k := range auth.Keys {
		sum, err := hex.DecodeString(k.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return serviceKeys{}, fmt.Errorf("gateway: service key %q: sha256 is not 64 hexadecimal digits", k.Name)
		}
		s.keys = append(s.keys, serviceKey{k.Name, [sha256.Size]byte(sum)})
	}
	return s, nil
}

// writer is the name of the caller's key, "" where nobody is asked. It fails when the caller may not write.
func (s *serviceKeys) writer(h *fasthttp.RequestHeader) (string, error) {
	if s.open {
		return "", nil
	}
	if s.tokens != nil {
		return s.tokenWriter(h)
	}
	key, err := bearer(h)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	found := -1
	for i := range s.keys { // all of them, so that the time tells nothing
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], s.keys[i].sum[:]), i, found)
	}
	if found < 0 {
		return "", unauthorized.because("The key is not known.")
	}
	return s.keys[found].name, nil
}

// tokenWriter lets the holder of a token write that has the scope for it.
func (s *serviceKeys) tokenWriter(h *fasthttp.RequestHeader) (string, error) {
	caller, err := tokenCaller(h, s.tokens)
	switch {
	case errors.Is(err, identity.ErrNoKeys):
		return "", cannotJudge.because("The issuer's keys are not known yet; try again.")
	case err != nil:
		return "", err
	case !caller.Can(writeScope):
		return "", forbidden.because("The token needs the scope " + writeScope + ".")
	}
	return writerOfTokens, nil
}

// shows reports whether a request shows that it is a service's, which may write.
func (s *serviceKeys) shows(h *fasthttp.RequestHeader) bool {
	if s.open || len(h.Peek(fiber.HeaderAuthorization)) == 0 {
		return false
	}
	_, err := s.writer(h)
	return err == nil
}

// bearer is what the one Authorization header carries.
func bearer(h *fasthttp.RequestHeader) (string, error) {
	headers := h.PeekAll(fiber.HeaderAuthorization)
	if len(headers) == 1 {
		scheme, credential, _ := strings.Cut(string(headers[0]), " ")
		if strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(credential), nil
		}
	}
	return "", unauthorized.because("Send Authorization: Bearer, and the credential, once.")
}
