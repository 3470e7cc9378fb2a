package plan

import (
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	n := For(Load{Users: 100_000_000, Active: 10_000_000, IDSize: 16, Writes: 20_000, Reads: 50_000})
	if n.Shards != 256 || n.Members != 12_700_000_000 || n.Season != 1_270_000_000 {
		t.Errorf("%+v, want 256 shards, 12.7 GB and 1.27 GB", n)
	}
	if n.IDs != 20_000*900*IDBytes || n.Log != 20_000*604_800*64 {
		t.Errorf("%+v, want ids for 15 minutes and a log of a week", n)
	}
	if data := n.Members + n.Season + n.IDs; n.Nodes*NodeBytes < data || float64(n.Nodes)*Busy < n.RedisCores {
		t.Errorf("%d nodes do not hold %d bytes, or the work of %.2f cores", n.Nodes, data, n.RedisCores)
	}
	for users, want := range map[int64]int64{1: 256, 128_000_000: 256, 128_000_001: 512, 1e12: 4096} {
		if got := For(Load{Users: users, IDSize: 16}); got.Shards != want || got.Nodes < 1 {
			t.Errorf("%d users: %d shards on %d nodes, want %d on some", users, got.Shards, got.Nodes, want)
		}
	}
}

// More of anything never needs less.
func TestNeedsGrow(t *testing.T) {
	base := Load{Users: 1_000_000, Active: 100_000, IDSize: 16, Writes: 1000, Reads: 1000}
	less := For(base)
	for name, more := range map[string]Load{
		"users":  {Users: 2_000_000, Active: 100_000, IDSize: 16, Writes: 1000, Reads: 1000},
		"active": {Users: 1_000_000, Active: 900_000, IDSize: 16, Writes: 1000, Reads: 1000},
		"ids":    {Users: 1_000_000, Active: 100_000, IDSize: 40, Writes: 1000, Reads: 1000},
		"writes": {Users: 1_000_000, Active: 100_000, IDSize: 16, Writes: 90_000, Reads: 1000},
		"reads":  {Users: 1_000_000, Active: 100_000, IDSize: 16, Writes: 1000, Reads: 9000},
	} {
		n := For(more)
		if n == less || n.Shards < less.Shards || n.Members < less.Members || n.Season < less.Season || n.IDs < less.IDs ||
			n.RedisCores < less.RedisCores || n.Nodes < less.Nodes || n.Log < less.Log || n.GatewayCores < less.GatewayCores || n.Embedded < less.Embedded {
			t.Errorf("more %s: %+v, less: %+v", name, n, less)
		}
	}
}

func TestCheck(t *testing.T) {
	err := Load{Users: 0, Active: 5, IDSize: 300, Writes: -1, Reads: -1}.Check()
	for _, want := range []string{"users", "active", "id-bytes", "writes", "reads"} {
		if err == nil || !strings.Contains(err.Error(), want+":") {
			t.Errorf("%v, want a word about %s", err, want)
		}
	}
	if err := (Load{Users: 1, IDSize: 1}).Check(); err != nil {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	l := Load{Users: 100_000_000, Active: 10_000_000, IDSize: 16, Writes: 20_000, Reads: 50_000}
	var text strings.Builder
	if err := WriteText(&text, l, For(l)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"100,000,000 users x (111 + 16 bytes of id)", "12.7 GB", "168h0m0s", "20000 writes/s"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 12_700_000_000: "12.7 GB", 999_960_000: "1.0 GB", 150_000: "150 KB"} {
		if got := bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
