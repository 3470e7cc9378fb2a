package config_test

import (
	"bytes"
	"strings"
	"testing"

	"rankgate/cmd/rankgate/internal/config"
)

func TestWhoMayCallIsRead(t *testing.T) {
	c := load(t, config.Source{})
	if c.Auth.Users != config.AuthNone || c.Auth.Service != config.AuthNone || c.Quota.ExactPerDay != 5 {
		t.Errorf("told nothing: %+v, %+v", c.Auth, c.Quota)
	}
	c = load(t, config.Source{File: write(t, `
auth:
  users: { mode: jwt, jwt: { hs256_secret: s3cret-of-users, issuer: "https://issuer", audience: rankgate } }
  service: { mode: jwt }
quota: { exact_per_day: -1 }
`), Environ: []string{"RANKGATE_AUTH__USERS__JWT__ISSUER=https://other"}})
	want := config.Tokens{HS256Secret: "s3cret-of-users", Issuer: "https://other", Audience: "rankgate"}
	if c.Auth.Users != config.AuthJWT || c.Auth.UserTokens != want || c.Auth.Service != config.AuthJWT || c.Auth.ServiceTokens != want || c.Quota.ExactPerDay != config.Unlimited {
		t.Errorf("jwt: %+v, %+v", c.Auth, c.Quota)
	}
	var out bytes.Buffer
	if err := c.Print(&out); err != nil || strings.Contains(out.String(), "s3cret") || !strings.Contains(out.String(), "hs256_secret: '****'") && !strings.Contains(out.String(), `hs256_secret: "****"`) {
		t.Errorf("printed, %v:\n%s", err, &out)
	}
	c = load(t, config.Source{
		File: write(t, "auth: { users: { mode: header, header: { name: X-User, trusted_proxies: [10.0.0.0/8, \"::1\", 10.1.2.3/16] } } }"),
	})
	if h := c.Auth.UserHeader; c.Auth.Users != config.AuthHeader || h.Name != "X-User" || len(h.Proxies) != 3 ||
		h.Proxies[1].String() != "::1/128" || h.Proxies[2].String() != "10.1.0.0/16" {
		t.Errorf("header: %+v", c.Auth)
	}
	// Whose word about addresses counts is another question.
	c = load(t, config.Source{File: write(t, "auth: { users: { header: { trusted_proxies: [10.0.0.0/8] } } }")})
	if c.Auth.Users != config.AuthNone || len(c.Auth.UserHeader.Proxies) != 1 {
		t.Errorf("proxies alone: %+v", c.Auth)
	}
	// Who gives the credentials, and no mode, means them.
	c = load(t, config.Source{File: write(t, "auth: { users: { jwt: { jwks_url: 'https://issuer/keys' } } }")})
	if c.Auth.Users != config.AuthJWT || c.Auth.UserTokens.JWKSURL != "https://issuer/keys" {
		t.Errorf("jwt without a mode: %+v", c.Auth)
	}
	c = load(t, config.Source{Environ: []string{
		"RANKGATE_AUTH__USERS__HEADER__NAME=X-User", "RANKGATE_AUTH__USERS__HEADER__TRUSTED_PROXIES=127.0.0.1, 10.0.0.0/8", "RANKGATE_QUOTA__EXACT_PER_DAY=0",
	}})
	if c.Auth.Users != config.AuthHeader || len(c.Auth.UserHeader.Proxies) != 2 || c.Quota.ExactPerDay != 0 {
		t.Errorf("variables: %+v", c.Auth)
	}
}

func TestWhatIsWrongWithWhoMayCall(t *testing.T) {
	for text, want := range map[string]string{
		"auth: { users: { mode: jwt } }": "rankgate.yaml:1: auth.users.mode: jwt needs either",
		"auth: { users: { mode: jwt, jwt: { hs256_secret: s3cret, jwks_url: 'https://a/b' } } }":                                           "rankgate.yaml:1: auth.users.mode: jwt needs either",
		"auth:\n  users:\n    mode: none\n    jwt: { hs256_secret: s3cret }":                                                               "rankgate.yaml:4: auth.users.jwt: given, but auth.users.mode is none",
		"auth: { users: { mode: jwt, jwt: { jwks_url: 's3cret' } } }":                                                                      "rankgate.yaml:1: auth.users.jwt.jwks_url: want a URL",
		"auth: { users: { mode: header } }":                                                                                                "rankgate.yaml:1: auth.users.mode: header needs",
		"auth: { users: { header: { name: X-User } } }":                                                                                    "rankgate.yaml: auth.users.mode: header needs",
		"auth: { users: { mode: header, header: { name: 'X User', trusted_proxies: [10.0.0.1] } } }":                                       "rankgate.yaml:1: auth.users.header.name: \"X User\" is not a header",
		"auth: { users: { mode: header, header: { name: X-User, trusted_proxies: [proxy.internal] } } }":                                   "rankgate.yaml:1: auth.users.header.trusted_proxies: \"proxy.internal\" is neither",
		"auth: { users: { mode: none, header: { name: X-User, trusted_proxies: [10.0.0.1] } } }":                                           "rankgate.yaml:1: auth.users.header.name: given, but",
		"auth: { service: { mode: jwt } }":                                                                                                 "rankgate.yaml:1: auth.service.mode: jwt needs auth.service.jwt",
		"auth: { service: { mode: none, jwt: { hs256_secret: s3cret } } }":                                                                 "rankgate.yaml:1: auth.service.jwt: given, but",
		"auth: { service: { mode: jwt, jwt: { hs256_secret: s3cret }, keys: [{ name: a, sha256: '" + strings.Repeat("ab", 32) + "' }] } }": "rankgate.yaml:1: auth.service.keys: given, but",
		"quota: { exact_per_day: many }":                                                                                                   "rankgate.yaml:1: quota.exact_per_day: want a whole number",
		"quota: 5":                                                                                                                         "rankgate.yaml:1: quota: want a mapping",
	} {
		_, err := config.Load(config.Source{File: write(t, text)})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s:\n%v, want %q", text, err, want)
		}
	}
}
