package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodesAndOneLineOfError(t *testing.T) {
	t.Chdir(t.TempDir())
	bad := "bad.yaml"
	if err := os.WriteFile(bad, []byte("listen: x\nboards: {A: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		args  []string
		code  int
		want  string // in stderr, or in stdout when the code is 0
		lines int    // of stderr
	}{
		"help":               {[]string{"--help"}, 0, "rankgate demo", 0},
		"nothing":            {nil, 0, "Examples:", 0},
		"serve help":         {[]string{"serve", "--help"}, 0, "service key", 0},
		"version":            {[]string{"version"}, 0, "go1.", 0},
		"unknown command":    {[]string{"serv"}, 2, `unknown command "serv": did you mean serve?`, 1},
		"unknown flag":       {[]string{"serve", "--port", "1"}, 2, "unknown flag: --port", 1},
		"unknown subcommand": {[]string{"config", "edit"}, 2, `unknown command "edit": rankgate config --help`, 1},
		"too few arguments":  {[]string{"import", "npm"}, 2, "usage: rankgate import BOARD FILE", 1},
		"wrong number":       {[]string{"import", "npm", "-", "--rate", "x"}, 2, "invalid argument", 1},
		"bad file":           {[]string{"config", "check", bad}, 2, "bad.yaml:1: listen:", 2},
		"missing file":       {[]string{"serve", "--config", "none.yaml"}, 2, "none.yaml: cannot be read", 1},
		"bad flag value":     {[]string{"serve", "--listen", "x"}, 2, "--listen: ", 1},
		"role needs servers": {[]string{"serve", "--role", "gateway"}, 2, "gateway needs log.url and store.url", 1},
		"port in use":        {[]string{"serve", "--listen", taken.Addr().String()}, 1, "is in use by another program", 1},
		"no server to ask":   {[]string{"healthcheck", "--listen", "127.0.0.1:1"}, 1, "refused", 1},
		"no server to fill":  {[]string{"import", "npm", "-", "--server", "http://127.0.0.1:1"}, 1, "no rankgate answers", 1},
		"no board to print":  {[]string{"export"}, 2, "usage: rankgate export BOARD", 1},
		"verify no server":   {[]string{"verify", "npm", "--server", "http://127.0.0.1:1"}, 1, "no rankgate answers", 1},
		"verify half":        {[]string{"verify", "npm", "--accept-loss"}, 2, "say --repair too", 1},
		"plan":               {[]string{"plan"}, 2, "--users", 1},
		"plan for nobody":    {[]string{"plan", "--users", "0", "--writes", "-1"}, 2, "writes: -1", 1},
		"verify what":        {[]string{"verify"}, 2, "usage: rankgate verify BOARD", 1},
		"verify no board":    {[]string{"verify", "N P M"}, 2, "a board name is", 1},
		"verify nowhere":     {[]string{"verify", "npm", "--server", "here"}, 2, "the server must be a URL", 1},
		"demo beyond here":   {[]string{"demo", "--listen", "0.0.0.0:0"}, 1, "this machine only", 1},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, "a,1\n", c.args...)
			text := stderr
			if c.code == 0 {
				text = stdout
			}
			if code != c.code || !strings.Contains(text, c.want) || strings.Count(stderr, "\n") != c.lines {
				t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s", code, c.code, stdout, stderr)
			}
		})
	}
}

func TestConfigPrintIsAStart(t *testing.T) {
	t.Chdir(t.TempDir())
	_, printed, _ := command(t, "", "config", "print", "--listen", "127.0.0.1:9999")
	if err := os.WriteFile("rankgate.yaml", []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, "", "config", "check", "rankgate.yaml"); code != 0 || out != "rankgate.yaml: ok\n" {
		t.Errorf("check of what print printed: exit %d\n%s%s", code, errs, printed)
	}
	if !strings.Contains(printed, "listen: 127.0.0.1:9999") {
		t.Errorf("the flag is not printed:\n%s", printed)
	}
}

func TestDataFolderHasOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	unlock, err := lockData(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockData(dir); err == nil || !strings.Contains(err.Error(), "used by another rankgate") {
		t.Errorf("a second holder: %v", err)
	}
	unlock()
	unlock, err = lockData(dir)
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	unlock()
}

func TestLocalURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80", "0.0.0.0:80": "http://127.0.0.1:80", ":80": "http://127.0.0.1:80",
		"[::]:80": "http://[::1]:80", "10.0.0.1:80": "http://10.0.0.1:80", "localhost:80": "http://localhost:80",
	} {
		if got := localURL(addr); got != want {
			t.Errorf("localURL(%s) = %s, want %s", addr, got, want)
		}
	}
}
