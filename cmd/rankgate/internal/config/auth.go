package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"rankgate/gateway/identity"
)

// AuthMode says who may call.
type AuthMode string

// The modes of authentication.
const (
	AuthNone   AuthMode = "none"
	AuthKeys   AuthMode = "keys"
	AuthJWT    AuthMode = "jwt"
	AuthHeader AuthMode = "header"
)

// Auth is who may call.
type Auth struct {
	Users         AuthMode // whose quota exact ranks cost
	UserTokens    Tokens
	UserHeader    Header
	Service       AuthMode // who may write
	ServiceKeys   []ServiceKey
	ServiceTokens Tokens // those of users, when nothing else is said
}

// ServiceKey is one credential for writes, known by its hash alone.
type ServiceKey struct {
	Name   string
	SHA256 [32]byte
}

// Tokens are the JSON Web Tokens that are believed.
type Tokens struct {
	HS256Secret string // either this
	JWKSURL     string // or this
	Issuer      string // "": any
	Audience    string // "": any
}

// Header is where a proxy names the caller.
type Header struct {
	Name    string
	Proxies []netip.Prefix // the peers that may; in every mode those whose X-Forwarded-For counts
}

func (d *draft) authKeys() section {
	a := &d.Auth
	return section{
		"users": section{
			"mode": choice(&a.Users, AuthNone, AuthJWT, AuthHeader),
			"jwt":  tokenKeys(&a.UserTokens),
			"header": section{
				"name":            text("the name of a header", &a.UserHeader.Name, checkHeader),
				"trusted_proxies": words{"a list of addresses, or ranges such as 10.0.0.0/8", a.UserHeader.setProxies},
			},
		},
		"service": section{
			"mode": choice(&a.Service, AuthNone, AuthKeys, AuthJWT),
			"keys": list{"a list of {name, sha256}", func() { a.ServiceKeys = nil }, d.serviceKey},
			"jwt":  tokenKeys(&a.ServiceTokens),
		},
	}
}

func tokenKeys(t *Tokens) section {
	return section{
		"hs256_secret": text("the secret that tokens are signed with", &t.HS256Secret, checkGiven),
		"jwks_url":     text("a URL such as https://issuer/.well-known/jwks.json", &t.JWKSURL, checkJWKSURL),
		"issuer":       text("what iss must be", &t.Issuer, checkGiven),
		"audience":     text("what aud must name", &t.Audience, checkGiven),
	}
}

func (d *draft) serviceKey() section {
	d.Auth.ServiceKeys = append(d.Auth.ServiceKeys, ServiceKey{})
	k := &d.Auth.ServiceKeys[len(d.Auth.ServiceKeys)-1]
	return section{
		"name": text("a name", &k.Name, checkGiven),
		"sha256": leaf{"64 hexadecimal digits", func(text string) error {
			sum, err := hex.DecodeString(text)
			if err != nil || len(sum) != len(k.SHA256) {
				return fmt.Errorf("want the key's SHA-256 as 64 hexadecimal digits") // never shows what it got
			}
			k.SHA256 = [32]byte(sum)
			return nil
		}},
	}
}

func (h *Header) setProxies(texts []string) error {
	h.Proxies = nil
	for _, text := range texts {
		prefix, err := identity.ParseProxy(text)
		if err != nil {
			return fmt.Errorf("%q is neither an address nor a range such as 10.0.0.0/8", text)
		}
		h.Proxies = append(h.Proxies, prefix)
	}
	return nil
}

func checkHeader(name string) error {
	letter := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !letter(c) }) {
		return fmt.Errorf("%q is not a header such as X-User", name)
	}
	return nil
}

func checkJWKSURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("want a URL such as https://issuer/.well-known/jwks.json") // never shows what it got
	}
	return nil
}

// completeAuth adds what follows from what was given.
func (d *draft) completeAuth(r *reader) {
	a := &d.Auth
	if _, told := r.given["auth.users.mode"]; !told {
		if _, jwt := r.given["auth.users.jwt"]; jwt || a.UserTokens != (Tokens{}) {
			a.Users = AuthJWT
		} else if _, header := r.given["auth.users.header"]; header && len(a.UserHeader.Proxies) == 0 || a.UserHeader.Name != "" {
			a.Users = AuthHeader
		}
	}
	if a.Service == AuthJWT && a.ServiceTokens == (Tokens{}) {
		a.ServiceTokens = a.UserTokens
	}
}

// checkAuth finds credentials that are right alone and wrong together.
func (d *draft) checkAuth(r *reader, wrong func(bad bool, path, format string, args ...any)) {
	a := &d.Auth
	tokens := a.UserTokens != (Tokens{})
	wrong(a.Users == AuthJWT && !a.UserTokens.complete(), "auth.users.mode", "jwt needs either auth.users.jwt.hs256_secret or auth.users.jwt.jwks_url")
	wrong(a.Users != AuthJWT && tokens, "auth.users.jwt", "given, but auth.users.mode is %s", a.Users)
	wrong(a.Users == AuthHeader && (a.UserHeader.Name == "" || len(a.UserHeader.Proxies) == 0), "auth.users.mode",
		"header needs auth.users.header.name and auth.users.header.trusted_proxies")
	// Proxies alone are right in every mode: they also say whom to believe about the address of a caller.
	wrong(a.Users != AuthHeader && a.UserHeader.Name != "", "auth.users.header.name", "given, but auth.users.mode is %s", a.Users)
	wrong(a.Service == AuthJWT && !a.ServiceTokens.complete(), "auth.service.mode",
		"jwt needs auth.service.jwt, or auth.users.jwt, with either hs256_secret or jwks_url")
	wrong(a.Service != AuthJWT && a.ServiceTokens != (Tokens{}), "auth.service.jwt", "given, but auth.service.mode is %s", a.Service)
	wrong(a.Service == AuthKeys && len(a.ServiceKeys) == 0, "auth.service.mode", "keys needs auth.service.keys")
	wrong(a.Service != AuthKeys && len(a.ServiceKeys) > 0, "auth.service.keys", "given, but auth.service.mode is %s", a.Service)
	for i, k := range a.ServiceKeys {
		path := fmt.Sprintf("auth.service.keys[%d]", i)
		_, named := r.given[path+".name"]
		_, hashed := r.given[path+".sha256"]
		wrong(!named || !hashed, path, "needs name and sha256")
		wrong(named && slices.ContainsFunc(a.ServiceKeys[:i], func(o ServiceKey) bool { return o.Name == k.Name }),
			path+".name", "another key has the name %q", k.Name)
	}
}

// complete reports whether tokens can be judged, in one way.
func (t Tokens) complete() bool { return (t.HS256Secret == "") != (t.JWKSURL == "") }

// tree is Auth for Print.
func (a *Auth) tree() yaml.MapSlice {
	users, service := yaml.MapSlice{{Key: "mode", Value: string(a.Users)}}, yaml.MapSlice{{Key: "mode", Value: string(a.Service)}}
	if a.Users == AuthJWT {
		users = append(users, yaml.MapItem{Key: "jwt", Value: a.UserTokens.tree()})
	}
	if a.Users == AuthHeader || len(a.UserHeader.Proxies) > 0 {
		var proxies []string
		for _, p := range a.UserHeader.Proxies {
			proxies = append(proxies, p.String())
		}
		header := yaml.MapSlice{{Key: "trusted_proxies", Value: proxies}}
		if a.UserHeader.Name != "" {
			header = append(yaml.MapSlice{{Key: "name", Value: a.UserHeader.Name}}, header...)
		}
		users = append(users, yaml.MapItem{Key: "header", Value: header})
	}
	if len(a.ServiceKeys) > 0 {
		var keys []yaml.MapSlice
		for _, k := range a.ServiceKeys {
			keys = append(keys, yaml.MapSlice{{Key: "name", Value: k.Name}, {Key: "sha256", Value: masked}})
		}
		service = append(service, yaml.MapItem{Key: "keys", Value: keys})
	}
	if a.Service == AuthJWT {
		service = append(service, yaml.MapItem{Key: "jwt", Value: a.ServiceTokens.tree()})
	}
	return yaml.MapSlice{{Key: "users", Value: users}, {Key: "service", Value: service}}
}

func (t Tokens) tree() yaml.MapSlice {
	var tree yaml.MapSlice
	add := func(key, value string) {
		if value != "" {
			tree = append(tree, yaml.MapItem{Key: key, Value: value})
		}
	}
	if t.HS256Secret != "" {
		add("hs256_secret", masked)
	}
	if t.JWKSURL != "" {
		add("jwks_url", MaskURL(t.JWKSURL))
	}
	add("issuer", t.Issuer)
	add("audience", t.Audience)
	return tree
}
