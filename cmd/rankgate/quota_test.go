package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/loadtest/servers"
)

// scoreOf gives users a score and waits until the gateway ranks them, freshly.
func scoreOf(a api, users ...string) {
	a.t.Helper()
	for _, u := range users {
		status, err := a.do(http.MethodPost, "/v1/boards/power/scores?wait=applied", fmt.Sprintf(`{"ops":[{"id":"1","user":%q,"add":5}]}`, u), nil)
		if err != nil || status != http.StatusOK {
			a.t.Fatalf("%d, %v", status, err)
		}
	}
}

// ranked waits until the gateway ranks the user exactly by itself.
func ranked(a api, user string) {
	a.t.Helper()
	eventually(a.t, 20*time.Second, func() error {
		var got standing
		if status, err := a.do(http.MethodGet, "/v1/boards/power/users/"+user+"/rank", "", &got); err != nil || status != http.StatusOK || got.Status != "fresh" {
			return fmt.Errorf("%d, %+v, %w", status, got, err)
		}
		return nil
	})
}

// askExact asks once, and reports whether the answer was exact, or the refusal that has an answer beside it.
func askExact(a api, user string) (exact, refused bool) {
	var got struct {
		Status    any // a word, or the problem's number
		Precision string
		Answer    *standing
	}
	status, err := a.do(http.MethodGet, "/v1/boards/power/users/"+user+"/rank?precision=exact", "", &got)
	if err != nil {
		a.t.Error(err)
	}
	return status == http.StatusOK && got.Precision == "exact", status == http.StatusTooManyRequests && got.Answer != nil && got.Answer.User == user
}

// Two gateways count together: whatever is asked at once of both, exactly the quota is exact.
func TestTwoGatewaysHaveOneQuota(t *testing.T) {
	redis, nats := servers.Redis(t), servers.NATS(t)
	yaml := fmt.Sprintf("boards: { power: { shards: 4, timezone: Asia/Shanghai } }\nlog: { url: %q }\nstore: { url: %q }", nats.URL, redis.URL)
	gateways := []*child{startChild(t, yaml), startChild(t, yaml)}
	scoreOf(gateways[0].api, "ann", "bob")
	for _, g := range gateways {
		ranked(g.api, "ann")
		ranked(g.api, "bob")
	}
	var exact, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range 60 {
		wait.Go(func() {
			e, r := askExact(gateways[i%2].api, "ann")
			if e {
				exact.Add(1)
			}
			if r {
				refused.Add(1)
			}
		})
	}
	wait.Wait()
	if exact.Load() != 5 || refused.Load() != 55 {
		t.Errorf("%d exact and %d refused, want 5 and 55", exact.Load(), refused.Load())
	}
	if exact, _ := askExact(gateways[1].api, "bob"); !exact {
		t.Error("ann's requests cost bob")
	}
	// Without Redis there is no exact answer, no refusal and no error.
	redis.Kill()
	for _, user := range []string{"ann", "bob"} {
		status, err := gateways[0].do(http.MethodGet, "/v1/boards/power/users/"+user+"/rank?precision=exact", "", nil)
		if err != nil || status != http.StatusOK {
			t.Errorf("%s without Redis: %d, %v", user, status, err)
		}
	}
}

// What was spent stays spent when the process is killed.
func TestARestartGivesNoNewQuota(t *testing.T) {
	c := startChild(t, "boards: { power: { update: add } }\nquota: { exact_per_day: 2 }")
	scoreOf(c.api, "ann")
	ranked(c.api, "ann")
	if exact, _ := askExact(c.api, "ann"); !exact {
		t.Error("the first was refused")
	}
	c.Kill()
	c.Restart()
	ranked(c.api, "ann")
	if exact, _ := askExact(c.api, "ann"); !exact {
		t.Error("the second was refused")
	}
	if _, refused := askExact(c.api, "ann"); !refused {
		t.Error("the third was not refused")
	}
}

// Tokens that the configuration believes name who asks, and let services write.
func TestTokensAreBelieved(t *testing.T) {
	const secret = "a secret of thirty-two bytes, yes"
	cfg, err := config.Load(config.Source{
		Environ: []string{
			"RANKGATE_BOARDS__POWER__UPDATE=add", "RANKGATE_AUTH__USERS__JWT__HS256_SECRET=" + secret, "RANKGATE_AUTH__SERVICE__MODE=jwt",
			"RANKGATE_QUOTA__EXACT_PER_DAY=1",
		},
		Flags: []config.Flag{
			{Name: "--listen", Key: "listen", Value: "127.0.0.1:0"}, {Name: "--data", Key: "data", Value: filepath.Join(t.TempDir(), "data")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := startEdge(t, cfg)
	ask := func(method, path, body string, claims jwt.MapClaims) int {
		claims["exp"] = time.Now().Add(time.Minute).Unix()
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		return a.with(t, method, path, body, token)
	}
	const write, body = "/v1/boards/power/scores?wait=applied", `{"ops":[{"user":"ann","add":5}]}`
	if status := ask("POST", write, body, jwt.MapClaims{"sub": "game", "scope": "scores:write"}); status != http.StatusOK {
		t.Errorf("a write: %d", status)
	}
	if status := ask("POST", write, body, jwt.MapClaims{"sub": "ann"}); status != http.StatusForbidden {
		t.Errorf("a write without the scope: %d", status)
	}
	ranked(a, "ann")
	const exact = "/v1/boards/power/users/ann/rank?precision=exact"
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests, http.StatusOK} {
		subject := []string{"bob", "bob", "cy"}[i]
		if status := ask("GET", exact, "", jwt.MapClaims{"sub": subject}); status != want {
			t.Errorf("%s asks: %d, want %d", subject, status, want)
		}
	}
	if status, err := a.do(http.MethodGet, exact, "", nil); err != nil || status != http.StatusUnauthorized {
		t.Errorf("nobody asks: %d, %v", status, err)
	}
}

// with sends a request with a credential and returns the status.
func (a api) with(t *testing.T, method, path, body, credential string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	req.Header.Set("Content-Type", "application/json")
	res, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}
