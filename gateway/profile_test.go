package gateway

import (
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Profiles = true })
	if r := e.get("/debug/pprof/").want(200); !strings.Contains(r.body, "goroutine") {
		t.Errorf("the index: %s", r.body)
	}
	for path, want := range map[string]string{
		"/debug/pprof/goroutine?debug=1": "goroutine profile:", "/debug/pprof/heap?debug=1": "heap profile:",
	} {
		if r := e.get(path).want(200); !strings.HasPrefix(r.body, want) {
			t.Errorf("%s: %.100s", path, r.body)
		}
	}
	e.get("/debug/pprof/cmdline").problem(notFound)
	newEdge(t, nil).get("/debug/pprof/").problem(notFound)
}
