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

// chaos runs a short scenario and returns the exit code and the report of its one run.
func chaos(t *testing.T, binary string, args ...string) (int, loadtest.TrialReport) {
	t.Helper()
	args = append([]string{"chaos", "--binary", binary, "--users", "30", "--batch", "30", "--json"}, args...)
	code, out, errs := call(t, args...)
	t.Log(errs)
	var report loadtest.ChaosReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Runs) != 1 {
		t.Fatalf("exit %d, report %q: %v", code, out, err)
	}
	return code, report.Runs[0]
}

// Each scenario at its shortest: every fault once. `make faults` is the long form.
func TestFaultsLoseAndDoubleNothing(t *testing.T) {
	binary := build(t)
	for _, scenario := range []string{"kill", "store-restore", "redis", "network", "log-restore", "mix", "reads", "reads-nodes"} {
		t.Run(scenario, func(t *testing.T) {
			code, report := chaos(t, binary, "--scenario", scenario, "--for", "4s")
			for _, wrong := range append(report.Violations, report.Different...) {
				t.Error(wrong)
			}
			if code != 0 || report.Acked == 0 || report.Answers == 0 || len(report.Faults) == 0 {
				t.Errorf("exit %d, %+v, want 0 and some of everything", code, report)
			}
		})
	}
}

// The suite is worth something only if it notices: this rankgate forgets its data at every start.
func TestForgetfulRankgateIsNoticed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // what goes wrong is kept
	script := filepath.Join(t.TempDir(), "forgetful")
	text := fmt.Sprintf("#!/bin/sh\nrm -rf data\nexec %s \"$@\"\n", build(t))
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	code, report := chaos(t, script, "--for", "1s", "--settle", "2s")
	if code != 1 || len(report.Different) == 0 {
		t.Errorf("exit %d, %+v, want exit 1 and differences", code, report)
	}
}
