package gateway

import (
	"regexp"
	"strings"
	"testing"
)

// The page loads nothing from elsewhere and runs nothing inline, and its policy allows no more than that.
func TestPage(t *testing.T) {
	e := newEdge(t, nil)
	page := e.get("/").want(200)
	if got := page.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	if found := regexp.MustCompile(`https?://|style=|<style| on[a-z]+="|<script>`).FindString(page.body); found != "" {
		t.Errorf("the page has %q", found)
	}
	for _, link := range regexp.MustCompile(`(?:src|href)="(/[^"]*)"`).FindAllStringSubmatch(page.body, -1) {
		r := e.get(link[1]).want(200)
		if tag := r.header.Get("Etag"); strings.HasPrefix(link[1], "/page/") {
			e.get(link[1], "If-None-Match", tag).want(304)
		}
	}
	for _, word := range regexp.MustCompile(`data-word="(\w+)"`).FindAllStringSubmatch(page.body, -1) {
		if strings.Count(e.get("/page/words.js").body, "\n  "+word[1]+":") != 2 {
			t.Errorf("%q is not said in both languages", word[1])
		}
	}
}
