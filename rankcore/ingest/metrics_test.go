package ingest

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

func TestMetricsOfSeveralBoardsShareARegistry(t *testing.T) {
	r := newRig(t)
	reg := prometheus.NewPedanticRegistry()
	b, other := testBoard("power", 2), testBoard("other", 2)
	l, _ := r.runLog(func(c *LogConfig) { c.Registerer = reg }, b, other)
	m := newModel(b)
	a := NewApplier(ApplierConfig{Log: l, Board: b, Shards: m, Announcer: &heard{}, Registerer: reg})
	NewApplier(ApplierConfig{Log: l, Board: other, Shards: newModel(other), Announcer: &heard{}, Registerer: reg})
	running(t, a.Run)
	mustAppend(t, l, b, add("1", "alice", 1), add("1", "alice", 1))
	settled(t, a, l.stream)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	applied := 0.0
	for _, f := range families {
		names = append(names, f.GetName())
		for _, metric := range f.GetMetric() {
			for _, label := range metric.GetLabel() {
				if f.GetName() == "rankgate_ingest_applied_ops_total" && label.GetValue() == rankcore.Duplicate.String() {
					applied += metric.GetCounter().GetValue()
				}
			}
		}
	}
	if i := slices.IndexFunc(names, func(n string) bool { return !strings.HasPrefix(n, "rankgate_ingest_") }); i >= 0 {
		t.Errorf("metric %s does not say whose it is", names[i])
	}
	if applied != 1 {
		t.Errorf("%v duplicates counted, want 1", applied)
	}
}
