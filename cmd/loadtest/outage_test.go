package main

import (
	"encoding/json"
	"testing"

	"rankgate/loadtest"
)

// A short outage under load: no answer is an error or wrong, and fresh ones come again without anybody's help. How many,
// and how soon, is for `make faults`: this machine is shared.
func TestReadersGetTheirAnswersAgain(t *testing.T) {
	_, out, errs := call(t, "outage", "--binary", build(t), "--users", "5000", "--readers", "256", "--factor", "1.2",
		"--before", "2s", "--for", "3s", "--within", "60s", "--share", "0.05", "--json")
	t.Log(errs)
	var report loadtest.OutageReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Runs) != 2 {
		t.Fatalf("%q: %v, want two runs", out, err)
	}
	for _, run := range report.Runs {
		for _, wrong := range run.Violations {
			t.Errorf("Redis %s: %s", run.Redis, wrong)
		}
		if run.Recovered == nil || run.Before.Fresh == 0 {
			t.Errorf("Redis %s: %d fresh answers a second before, and not enough after", run.Redis, run.Before.Fresh)
		}
	}
}
