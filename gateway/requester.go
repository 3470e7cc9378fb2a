package gateway

import (
	"errors"
	"fmt"
	"net"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"rankgate/gateway/identity"
	"rankgate/rankcore"
)

// UserAuth says whose units exact ranks cost. Everything else is public to read and needs no credential: one that
// is sent all the same is not looked at. Nobody spends another's units, since the requester is whom the credential
// names, whoever is asked about.
type UserAuth struct {
	Mode    Mode
	Tokens  *identity.Tokens // for ModeJWT
	Header  string           // for ModeHeader: where a proxy names the caller
	Proxies identity.Proxies // for ModeHeader: whose word counts
}

func (a *UserAuth) validate() error {
	switch {
	case a.Mode == "" || a.Mode == ModeNone:
	case a.Mode == ModeJWT && a.Tokens != nil:
	case a.Mode == ModeHeader && a.Header != "" && len(a.Proxies) > 0:
	default:
		return fmt.Errorf("gateway: user auth mode %q is unknown or lacks what it needs", a.Mode)
	}
	return nil
}

// requester names who asks. Where nobody is asked for credentials it is the user asked about, by the one id that
// every spelling of the URL means. It fails with a refusal, or with identity.ErrNoKeys.
func (a *UserAuth) requester(c *fiber.Ctx, asked rankcore.UserID) (string, error) {
	switch a.Mode {
	case ModeJWT:
		caller, err := tokenCaller(&c.Request().Header, a.Tokens)
		return caller.Subject, err
	case ModeHeader:
		return a.named(c)
	default:
		return string(asked), nil
	}
}

// tokenCaller is who holds the request's token. It fails with a refusal, or with identity.ErrNoKeys.
func tokenCaller(h *fasthttp.RequestHeader, tokens *identity.Tokens) (identity.Caller, error) {
	token, err := bearer(h)
	if err != nil {
		return identity.Caller{}, err
	}
	caller, err := tokens.Caller(token)
	if errors.Is(err, identity.ErrInvalid) {
		return caller, unauthorized.because("The token is not valid, or no longer.")
	}
	return caller, err
}

// named is the name that a trusted proxy gave the caller. Only the peer itself is asked whether it is trusted:
// X-Forwarded-For says where a request came from, and not who wrote its other headers. A name that is there twice
// is nobody's: a proxy that adds to what the client sent would let the client choose.
func (a *UserAuth) named(c *fiber.Ctx) (string, error) {
	peer, ok := c.Context().RemoteAddr().(*net.TCPAddr)
	if !ok || !a.Proxies.Trusts(peer.AddrPort().Addr()) {
		return "", unauthorized.because("An exact rank has to be asked for through a proxy that says who asks.")
	}
	names := c.Request().Header.PeekAll(a.Header)
	if len(names) != 1 {
		return "", unauthorized.because("The proxy has to say once who asks.")
	}
	name, err := rankcore.ParseUserID(string(names[0]))
	if err != nil {
		return "", unauthorized.because("What the proxy says is nobody's name.")
	}
	return string(name), nil
}
