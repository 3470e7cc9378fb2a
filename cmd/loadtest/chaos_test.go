package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rankgate/loadtest"
)

// build builds the rankgate of this repository.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rankgate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "rankgate/cmd/rankgate").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// chaos runs a short scenario and returns the exit code and the report.
func chaos(t *testing.T, binary string, args ...string) (int, loadtest.ChaosReport) {
	t.Helper()
	args = append([]string{"chaos", "--binary", binary, "--writers", "3", "--users", "40", "--batch", "30", "--json"}, args...)
	code, out, errs := call(t, args...)
	t.Log(errs)
	var report loadtest.ChaosReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("exit %d, report %q: %v", code, out, err)
	}
	t.Logf("%d operations acknowledged, %d batches sent again, %d answers watched, settled in %.1f s",
		report.Acked, report.Retries, report.Answers, report.Settled)
	return code, report
}

func TestKillLosesAndDoublesNothing(t *testing.T) {
	binary := build(t)
	for _, store := range []string{"embedded", "redis"} {
		t.Run(store, func(t *testing.T) {
			code, report := chaos(t, binary, "--store", store, "--for", "6s", "--kills", "3")
			for _, wrong := range append(report.Violations, report.Different...) {
				t.Error(wrong)
			}
			if code != 0 || report.Acked == 0 || report.Answers == 0 {
				t.Errorf("exit %d, %+v, want 0 and some of everything", code, report)
			}
		})
	}
	// The scenario is worth something only if it notices: this rankgate forgets its data at every start.
	t.Run("a forgetful one is noticed", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "forgetful")
		text := fmt.Sprintf("#!/bin/sh\nrm -rf data\nexec %s \"$@\"\n", binary)
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		code, report := chaos(t, script, "--for", "2s", "--kills", "1", "--settle", "2s")
		if code != 1 || len(report.Different) == 0 {
			t.Errorf("exit %d, %+v, want exit 1 and differences", code, report)
		}
	})
}
