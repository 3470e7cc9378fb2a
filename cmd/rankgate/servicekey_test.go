package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/gateway"
)

func TestWritesBeyondLoopbackAreNeverOpen(t *testing.T) {
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "data")
	if auth, key, err := serviceAuth(cfg); err != nil || key != "" || auth.Mode != gateway.ModeNone {
		t.Errorf("on loopback: %+v, %q, %v", auth, key, err)
	}
	for _, addr := range []string{"0.0.0.0:80", ":80", "[::]:80", "192.0.2.1:80"} {
		cfg.Listen = addr
		if auth, _, err := serviceAuth(cfg); err != nil || auth.Mode != gateway.ModeKeys || len(auth.Keys) != 1 {
			t.Errorf("on %s: %+v, %v", addr, auth, err)
		}
	}
}

func TestServiceKeyIsMadeOnceAndKept(t *testing.T) {
	cfg := config.Default()
	cfg.Listen, cfg.Data = "0.0.0.0:80", filepath.Join(t.TempDir(), "data")
	first, key, err := serviceAuth(cfg)
	if err != nil || len(key) < minKeyLength {
		t.Fatalf("key %q, %v", key, err)
	}
	file := filepath.Join(cfg.Data, "service.key")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info.Mode(), err)
	}
	second, again, err := serviceAuth(cfg)
	if err != nil || again != "" || second.Keys[0] != first.Keys[0] {
		t.Errorf("after a restart: %+v, shown %q, %v", second, again, err)
	}
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := serviceAuth(cfg); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("an empty key file: %v", err)
	}
}

func TestGatewaysThatShareAFolderShareTheKey(t *testing.T) {
	cfg := config.Default()
	cfg.Listen, cfg.Data = "0.0.0.0:80", t.TempDir()
	var wait sync.WaitGroup
	hashes, made := make([]string, 16), make([]string, 16)
	for i := range hashes {
		wait.Go(func() {
			auth, key, err := serviceAuth(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			hashes[i], made[i] = auth.Keys[0].SHA256, key
		})
	}
	wait.Wait()
	makers := 0
	for i := range hashes {
		if hashes[i] != hashes[0] {
			t.Errorf("gateway %d has another key", i)
		}
		if made[i] != "" {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d gateways made the key, want 1", makers)
	}
}
