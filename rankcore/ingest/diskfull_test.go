//go:build unix

package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// A full disk costs what is written meanwhile, which is told, and nothing that was confirmed; once there is room the
// log goes on by itself, the appliers too.
func TestFullDisk(t *testing.T) {
	var said bytes.Buffer
	server, err := StartServer(EmbeddedConfig{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	conn, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stop := running(t, server.Run)
	b := testBoard("power", 1)
	l, err := OpenLog(LogConfig{Conn: conn, Boards: []*rankcore.Board{b}, Durability: FSync, MaxBytes: 1 << 30, Logger: testLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer running(t, l.Run)()
	m := newModel(b)
	applier := NewApplier(ApplierConfig{Log: l, Board: b, Shards: m, Announcer: &heard{}, Logger: testLogger(t)})
	defer running(t, applier.Run)()

	mustAppend(t, l, b, add("0", "alice", 1))
	room := servers.FullDisk(t, 64<<10)
	confirmed := int64(1)
	for i := 1; ; i++ {
		if _, err := l.Append(t.Context(), b, []rankcore.Op{add(strconv.Itoa(i), "alice", 1), add(strconv.Itoa(i), strings.Repeat("x", 200), 1)}); err != nil {
			if !errors.Is(err, ErrLogUnavailable) {
				t.Fatal(err)
			}
			break
		}
		confirmed++
	}
	if !server.Broken() {
		t.Fatal("the server says nothing of a full disk")
	}
	room()
	mustAppend(t, l, b, add("last", "alice", 1_000_000))
	conclude := func() string {
		score := m.score("alice")
		if lost := 1_000_000 + confirmed - score; lost == 0 || lost == -1 { // the one that failed may be stored
			return ""
		}
		return fmt.Sprintf("alice has %d of %d confirmed, and the last one", score, confirmed)
	}
	eventually(t, conclude)
	broken := server.Broken()
	stop() // it says what it does until then
	if broken || strings.Count(said.String(), "make room") != 1 {
		t.Errorf("said %s", &said)
	}
}
