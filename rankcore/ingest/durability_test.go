package ingest

import (
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

func TestDurabilityIsWhatTheServerDoes(t *testing.T) {
	for _, c := range []struct {
		name    string
		sync    string
		monitor bool // whether the server can be asked
		want    Durability
	}{
		{"syncs always, and says so", "always", true, FSync},
		{"syncs always, and nobody can ask", "always", false, OS},
		{"syncs every two minutes", "2m", true, OS},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := servers.NATS(t, servers.SyncInterval(c.sync))
			r := &rig{t: t, logger: testLogger(t)}
			conn, err := Dial(n.URL)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			b := testBoard("power", 1)
			l, _ := r.runLog(func(cfg *LogConfig) {
				cfg.Conn, cfg.Durability = conn, FSync // wanted is not known
				if c.monitor {
					cfg.Monitors = []string{n.MonitorURL}
				} else {
					cfg.Monitors = []string{n.MonitorURL + "/none"}
				}
			}, b)
			mustAppend(t, l, b, add("1", "alice", 1))
			eventually(t, func() string {
				if h := l.Health(); !h.Reachable || h.Durability != c.want {
					return string("durability " + h.Durability)
				}
				return ""
			})
		})
	}
}

func TestDurabilityOfTheEmbeddedServer(t *testing.T) {
	for _, want := range []Durability{FSync, OS} {
		s, err := StartServer(EmbeddedConfig{Dir: t.TempDir(), Durability: want})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		conn, err := s.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		l, err := OpenLog(LogConfig{Conn: conn, Boards: []*rankcore.Board{testBoard("power", 1)}, Durability: s.Durability()})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Health().Durability; got != want {
			t.Errorf("durability %s, want %s", got, want)
		}
	}
}
