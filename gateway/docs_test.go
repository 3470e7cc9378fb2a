package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// The page of the API's description loads what is served here and nothing else, and its policy allows no more.
func TestDocs(t *testing.T) {
	e := newEdge(t, nil)
	page := e.get("/docs").want(200)
	if got := page.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	if !strings.Contains(page.body, `"swaggerJsonUrl":"/openapi.json"`) {
		t.Error("the page does not read /openapi.json")
	}
	links := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.body, -1)
	if len(links) != len(docsFiles) {
		t.Errorf("%d links to %d files", len(links), len(docsFiles))
	}
	for _, link := range links {
		if !strings.HasPrefix(link[1], "/docs/") {
			t.Errorf("the page loads %s", link[1])
			continue
		}
		plain, zipped := e.get(link[1]).want(200), e.get(link[1], "Accept-Encoding", "gzip").want(200)
		if len(plain.body) < 100 || strings.HasSuffix(link[1], ".js") && (zipped.header.Get("Content-Encoding") != "gzip" || len(zipped.body) >= len(plain.body)) {
			t.Errorf("%s: %d bytes, zipped %d", link[1], len(plain.body), len(zipped.body))
		}
		if kind := plain.header.Get("Content-Type"); plain.header.Get("X-Content-Type-Options") != "nosniff" || kind == "" || strings.HasPrefix(kind, "text/plain") {
			t.Errorf("%s is %q", link[1], kind)
		}
	}
	policy := page.header.Get("Content-Security-Policy")
	for _, script := range inline.FindAllStringSubmatch(page.body, -1) {
		hash := sha256.Sum256([]byte(script[1]))
		if want := "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("a script of the page may not run: %q lacks %s", policy, want)
		}
	}
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src 'self' 'unsafe") {
		t.Errorf("policy %q", policy)
	}
	e.get("/docs", "If-None-Match", page.header.Get("Etag")).want(304)
	e.get("/docs/swagger-ui.js").problem(notFound)
	e.get("/docs/").problem(notFound)
}
