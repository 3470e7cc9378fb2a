package loadtest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

func load(url string) loadtest.LoadConfig {
	return loadtest.LoadConfig{
		Client: loadtest.ClientConfig{URL: url, Connections: 4}, Board: newBoard(), For: 250 * time.Millisecond,
		Reads: 400, TopShare: 0.25, TopLimit: 10, Ops: 1000, Batch: 10, Kind: rankcore.OpSet,
		Users: 50, Shape: loadtest.Zipf, Seed: 1,
	}
}

func TestRunKeepsItsTimetable(t *testing.T) {
	s := newStub(newBoard())
	report, err := loadtest.Run(t.Context(), load(s.serve(t)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		kind string
		sent int64
	}{{"top", 25}, {"rank", 75}, {"write", 25}} {
		k := report.Kinds[i]
		if k.Kind != want.kind || k.Sent != want.sent {
			t.Errorf("%d of %s, want %d of %s", k.Sent, k.Kind, want.sent, want.kind)
		}
		if k.Good() != k.Sent || len(k.Failures) > 0 {
			t.Errorf("%s: answers %v, failures %v, want all good", k.Kind, k.HTTP, k.Failures)
		}
		if l := k.LatencyUS; l.P50 < 1 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
			t.Errorf("%s: latencies out of order: %+v", k.Kind, l)
		}
	}
	if top := report.Kinds[0]; top.Statuses["fresh"] != 25 {
		t.Errorf("statuses of the top: %v, want 25 fresh", top.Statuses)
	}
	if s.taken != 250 {
		t.Errorf("the server took %d operations, want 250", s.taken)
	}
}

// A server that stops for a while must show in the latencies of all requests meant for that while, not only in those
// that were under way.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	const pause = 150 * time.Millisecond
	var paused atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if paused.CompareAndSwap(false, true) {
			<-time.After(pause)
		}
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(server.Close)
	cfg := load(server.URL)
	cfg.Client.Connections, cfg.Ops, cfg.TopShare = 1, 0, 0
	report, err := loadtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	k := report.Kinds[0]
	if k.Sent != 100 {
		t.Errorf("%d sent, want 100: late ones are sent too", k.Sent)
	}
	// 60 requests were meant to start during the pause; from their actual start all but one were quick.
	if k.LateStarts < 50 || k.LatencyUS.P50 < 10_000 {
		t.Errorf("%d late starts, median %d us: the pause does not show", k.LateStarts, k.LatencyUS.P50)
	}
}

func TestRunCountsWhatFails(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(server.Close)
	cfg := load(server.URL)
	cfg.Ops = 0
	report, err := loadtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range report.Kinds {
		if k.Failures["connection closed"] != k.Sent || k.AchievedRate != 0 {
			t.Errorf("%s: failures %v of %d, rate %v, want all closed", k.Kind, k.Failures, k.Sent, k.AchievedRate)
		}
	}
	server.Close()
	report, err = loadtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if k := report.Kinds[0]; k.Failures["connection refused"] != k.Sent {
		t.Errorf("failures %v of %d, want all refused", k.Failures, k.Sent)
	}
}

func TestRunRefusesWhatItCannotDo(t *testing.T) {
	_, err := loadtest.Run(t.Context(), loadtest.LoadConfig{Shape: "bell", Kind: rankcore.OpHide})
	for _, word := range []string{"for:", "reads, writes:", "top-limit:", "batch:", "op:", "users:", "shape:"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v: no word of %q", err, word)
		}
	}
}

func TestTargetsBeyondThisMachine(t *testing.T) {
	for target, want := range map[string]string{
		"http://127.0.0.1:8080":      "",
		"http://localhost:8080/":     "",
		"https://[::1]:8443":         "",
		"http://127.9.9.9":           "",
		"http://192.0.2.1:8080":      "loopback",
		"http://example.org":         "loopback",
		"http://127.0.0.1.nip.io":    "loopback",
		"127.0.0.1:8080":             "address",
		"ftp://127.0.0.1":            "address",
		"http://127.0.0.1@192.0.2.1": "address",
		"http://127.0.0.1:8080/v1":   "path",
	} {
		_, err := loadtest.NewClient(loadtest.ClientConfig{URL: target})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
		if want == "loopback" && !errors.Is(err, loadtest.ErrNotLoopback) {
			t.Errorf("%s: %v is not ErrNotLoopback", target, err)
		}
	}
	if _, err := loadtest.NewClient(loadtest.ClientConfig{URL: "http://192.0.2.1", AllowRemote: true}); err != nil {
		t.Error(err)
	}
}

func TestReportForPeopleAndPrograms(t *testing.T) {
	r := loadtest.Report{URL: "http://127.0.0.1:1", Board: "power", Seconds: 2, Kinds: []loadtest.KindReport{{
		Kind: "write", AskedRate: 10, AchievedRate: 9.5, OpsRate: 950, Sent: 20, LateStarts: 3,
		HTTP: map[string]int64{"503": 1, "202": 19}, Failures: map[string]int64{"timeout": 1},
		LatencyUS: loadtest.Latency{P50: 1234, P90: 2000, P99: 3000, P999: 4000, Max: 5678},
	}}}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.23", "5.68", "202: 19, 503: 1", "timeout: 1", "950 operations/s"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	encoded, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(encoded), `"latency_us":{"p50":1234,`) {
		t.Errorf("%s, %v", encoded, err)
	}
}

// Writes are looked for where they were not sent to. One that never shows is missed.
func TestVisibleElsewhere(t *testing.T) {
	s := newStub(newBoard())
	cfg := load(s.serve(t))
	cfg.Reads, cfg.Watch = 0, []string{cfg.Client.URL}
	report, err := loadtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if v := report.Visible; len(v) != 1 || v[0].Writes == 0 || v[0].Missed != 0 || v[0].LatencyUS.P50 < 1 {
		t.Errorf("visible: %+v, want some writes and none missed", v)
	}
	cfg.Watch = []string{newStub(newBoard()).serve(t)} // another board altogether
	if report, err = loadtest.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if v := report.Visible; len(v) != 1 || v[0].Writes != 1 || v[0].Missed != 1 {
		t.Errorf("visible on a gateway of another board: %+v, want one missed", v)
	}
}
