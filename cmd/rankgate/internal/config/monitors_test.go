package config_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"rankgate/cmd/rankgate/internal/config"
)

func TestMonitors(t *testing.T) {
	file := write(t, `
log: { url: "nats://10.0.0.1:4222", monitors: ["http://10.0.0.1:8222", "http://me:secret@10.0.0.2:8222"] }
store: { url: "redis+cluster://10.0.0.1:7000,10.0.0.2:7000" }
`)
	c := load(t, config.Source{File: file})
	if want := []string{"http://10.0.0.1:8222", "http://me:secret@10.0.0.2:8222"}; !slices.Equal(c.Log.Monitors, want) {
		t.Errorf("monitors = %q", c.Log.Monitors)
	}
	var printed bytes.Buffer
	if err := c.Print(&printed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"http://10.0.0.1:8222", "http://me:****@10.0.0.2:8222", "redis+cluster://10.0.0.1:7000,10.0.0.2:7000"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("printed without %s:\n%s", want, &printed)
		}
	}
	for _, bad := range []string{"10.0.0.1:8222", "nats://me:secret@a:4222", ""} {
		_, err := config.Load(config.Source{Environ: []string{"RANKGATE_LOG__MONITORS=" + bad + ",http://a:8222"}})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
