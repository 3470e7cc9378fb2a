package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"rankgate/gateway"
)

// An issuer whose keys cannot be read is named on /readyz, by itself and without its address, and costs no answer. When it
// is there nobody has to restart anything.
func TestAnIssuerThatIsAwayIsTold(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var up atomic.Bool
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	}))
	defer issuer.Close()
	c := startChild(t, fmt.Sprintf(`boards: { power: { update: add } }
auth: { users: { jwt: { jwks_url: %q } } }`, issuer.URL))
	scoreOf(c.api, "ann")
	told := func(want gateway.State, detail string) {
		t.Helper()
		eventually(t, 20*time.Second, func() error {
			var ready struct {
				Ready        bool
				Dependencies map[string]gateway.Dependency
			}
			status, err := c.do(http.MethodGet, "/readyz", "", &ready)
			if d := ready.Dependencies["issuer for users"]; err != nil || status != http.StatusOK || !ready.Ready || d.State != want || d.Detail != detail {
				return fmt.Errorf("%d, %+v, %w", status, ready, err)
			}
			return nil
		})
	}
	told(gateway.Down, "its keys were never read, so no token can be judged")
	ranked(c.api, "ann")
	up.Store(true)
	told(gateway.OK, "")
}
