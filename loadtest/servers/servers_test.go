package servers_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

func TestRedisKeepsItsPortAndFilesOverRestart(t *testing.T) {
	r := servers.Redis(t, servers.With("appendonly", "yes"))
	r.Do("SET", "k", "v")
	pid := r.PID()
	r.Kill()
	if r.Running() {
		t.Fatal("running after Kill")
	}
	r.Restart()
	if got := r.Do("GET", "k"); got != "v" {
		t.Errorf("after kill and restart: %v, want v", got)
	}
	if r.PID() == pid {
		t.Error("the same process after a restart")
	}
	r.Restart() // stops it first
	if got := r.Do("GET", "k"); got != "v" {
		t.Errorf("after stop and restart: %v, want v", got)
	}
}

func TestRedisKeepsNothingUnlessAsked(t *testing.T) {
	r := servers.Redis(t)
	r.Do("SET", "k", "v")
	r.Restart()
	if got := r.Do("GET", "k"); got != nil {
		t.Errorf("after a restart: %v, want nothing", got)
	}
}

func TestFrozenServerAnswersOnlyWhenThawed(t *testing.T) {
	r := servers.Redis(t)
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r.Freeze()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 7)
	if n, err := conn.Read(answer); err == nil {
		t.Fatalf("a frozen server answered %q", answer[:n])
	}
	r.Thaw()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "+PONG\r\n" {
		t.Fatalf("after Thaw: %q, %v", answer, err)
	}
}

func TestRedisClusterServesAllSlotsAndFailsOver(t *testing.T) {
	c := servers.RedisCluster(t, 3, 3)
	for i, r := range c.Replicas {
		if role := r.Do("ROLE").([]any)[0]; role != "slave" {
			t.Errorf("replica %d is a %v", i, role)
		}
	}
	c.Masters[0].Kill()
	deadline := time.Now().Add(30 * time.Second)
	for c.Replicas[0].Do("ROLE").([]any)[0] != "master" {
		if time.Now().After(deadline) {
			t.Fatal("no failover within 30 s")
		}
		<-time.After(20 * time.Millisecond)
	}
	c.AwaitOK(t)
}

func TestNATSSyncsAlwaysAndComesBack(t *testing.T) {
	n := servers.NATS(t)
	for range 2 {
		if got := get(t, n.MonitorURL+"/jsz"); !strings.Contains(got, `"sync_always": true`) {
			t.Errorf("/jsz: %s, want sync_always", got)
		}
		n.Kill()
		n.Restart()
	}
	n.Stop()
	if _, err := os.Stat(n.StoreDir); err != nil {
		t.Error(err)
	}
}

func TestNATSTakesOtherSettings(t *testing.T) {
	n := servers.NATS(t, servers.SyncInterval("2m"), servers.With("max_payload", "8MB"))
	if got := get(t, n.MonitorURL+"/jsz"); strings.Contains(got, `"sync_always": true`) {
		t.Errorf("/jsz: %s, want no sync_always", got)
	}
	if got := get(t, n.MonitorURL+"/varz"); !strings.Contains(got, `"max_payload": 8388608`) &&
		!strings.Contains(got, `"max_payload": 8000000`) {
		t.Errorf("/varz: %s, want the payload asked for", got)
	}
}

func TestNATSClusterHasALeaderAndSurvivesOne(t *testing.T) {
	c := servers.NATSCluster(t, 3)
	c.Nodes[0].Kill()
	c.Nodes[0].Restart()
	if got := get(t, c.Nodes[0].MonitorURL+"/jsz"); !strings.Contains(got, `"cluster_size": 3`) {
		t.Errorf("/jsz: %s, want three in the cluster", got)
	}
}

// The test starts itself as a child that starts a Redis, and kills the child.
func TestServersDieWithTheirParent(t *testing.T) {
	if addrFile := os.Getenv("SERVERS_TEST_ADDR_FILE"); addrFile != "" {
		if err := os.WriteFile(addrFile, []byte(servers.Redis(t).Addr), 0o600); err != nil {
			t.Fatal(err)
		}
		select {} // until killed
	}
	dir := t.TempDir()
	var addr string
	parent := servers.Start(t, servers.Command{
		Name: "this test",
		Path: os.Args[0],
		Args: []string{"-test.run", "^TestServersDieWithTheirParent$"},
		Env:  []string{"SERVERS_TEST_ADDR_FILE=" + dir + "/addr", "TMPDIR=" + dir},
		Ready: func() error {
			text, err := os.ReadFile(dir + "/addr")
			addr = string(text)
			if err == nil && addr == "" {
				err = io.ErrUnexpectedEOF // not written yet
			}
			return err
		},
	})
	parent.Kill()
	deadline := time.Now().Add(10 * time.Second)
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("redis-server outlived the process that started it")
		}
		<-time.After(5 * time.Millisecond)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
