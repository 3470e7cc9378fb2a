package main

import (
	"rankgate/cmd/rankgate/internal/config"
	"rankgate/gateway"
	"rankgate/gateway/identity"
)

// shortSecret is the length below which RFC 7518 calls a secret of HS256 too short, in bytes.
const shortSecret = 32

// identify gives face the judges of credentials, and lets those run that read an issuer's keys, of which known tells.
func (e *edge) identify(face *gateway.Config, known *health) error {
	auth := &e.cfg.Auth
	users := &face.Auth.Users
	*users = gateway.UserAuth{Mode: gateway.Mode(auth.Users), Header: auth.UserHeader.Name, Proxies: auth.UserHeader.Proxies}
	var err error
	if auth.Users == config.AuthJWT {
		if users.Tokens, err = e.tokens("users", auth.UserTokens, known); err != nil {
			return err
		}
	}
	switch {
	case auth.Service != config.AuthJWT:
	case auth.ServiceTokens == auth.UserTokens && users.Tokens != nil:
		face.Auth.Service.Tokens = users.Tokens
	default:
		face.Auth.Service.Tokens, err = e.tokens("services", auth.ServiceTokens, known)
	}
	return err
}

// tokens is the judge of one sort of callers' tokens.
func (e *edge) tokens(whose string, t config.Tokens, known *health) (*identity.Tokens, error) {
	if n := len(t.HS256Secret); n > 0 && n < shortSecret {
		e.log.Warn("the secret that tokens are signed with is short enough to be guessed", "of", whose, "bytes", n, "want", shortSecret)
	}
	tokens, err := identity.NewTokens(identity.TokenConfig{
		Secret: []byte(t.HS256Secret), JWKSURL: t.JWKSURL, Issuer: t.Issuer, Audience: t.Audience, Log: e.log,
	})
	if err != nil {
		return nil, err
	}
	if t.JWKSURL != "" {
		e.add("keys of the issuer for "+whose, tokens.Run)
		known.issuers["issuer for "+whose] = tokens.Keys
	}
	return tokens, nil
}
