package config_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/rankcore"
)

func write(t *testing.T, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("rankgate.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "rankgate.yaml"
}

func load(t *testing.T, src config.Source) *config.Config {
	t.Helper()
	c, err := config.Load(src)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

func TestNothingToldIsADemoBoard(t *testing.T) {
	c := load(t, config.Source{})
	b := c.Boards[0]
	if len(c.Boards) != 1 || b.ID != "demo" || b.Order != rankcore.Desc || b.Update != rankcore.UpdateAdd || b.Shards != 16 {
		t.Errorf("boards = %+v, want one demo board, desc, add, 16 shards", b)
	}
	if c.Listen != "127.0.0.1:8080" || c.Data != "./data" || c.Log.URL != config.Embedded || c.StoreURL != config.Embedded {
		t.Errorf("config = %+v, want everything embedded on loopback", c)
	}
}

const full = `
listen: 0.0.0.0:9000
ops_listen: 127.0.0.1:9001
data: /var/lib/rankgate
role: gateway
log: { url: "nats://app:secret@a:4222,nats://b:4222", durability: os, replicas: 3, retention: 24h, max_bytes: 2GiB }
store: { url: "redis://app:secret@host:6379/0" }
auth:
  users: { mode: none }
  service:
    mode: keys
    keys:
      - { name: shop, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b }
limits: { per_address_rps: 50, per_address_conns: -1, core_concurrency: 64 }
cors: { origins: ["https://shop.example", "http://localhost:3000"] }
boards:
  power:
    order: asc
    update: best
    ties: first
    scale: 2
    shards: 64
    seasons: [all, day]
    timezone: Europe/Berlin
    keep: { day: 72h }
    head: 500
    exact_depth: 1000
    dedupe: 5m
    freshness: 2s
    snapshot_every: 5s
    snapshot_max_age: 1h
  demo: {}
`

func TestFileIsRead(t *testing.T) {
	c := load(t, config.Source{File: write(t, full)})
	if got := c.BoardNames(); !cmp.Equal(got, []string{"demo", "power"}) {
		t.Fatalf("boards = %v", got)
	}
	if c.Boards[0].Shards != 256 {
		t.Errorf("demo has %d shards, want 256 on Redis", c.Boards[0].Shards)
	}
	p := c.Boards[1]
	if p.Order != rankcore.Asc || p.Update != rankcore.UpdateBest || p.Scale != 2 || p.Shards != 64 || p.Head != 500 ||
		p.ExactDepth != 1000 || p.Dedupe != 5*time.Minute || p.Freshness != 2*time.Second || p.Location.String() != "Europe/Berlin" ||
		!p.Has(rankcore.Day) || p.Keep[rankcore.Day] != 72*time.Hour || p.Keep[rankcore.Week] != 720*time.Hour ||
		p.SnapshotEvery != 5*time.Second || p.SnapshotMaxAge != time.Hour {
		t.Errorf("power = %+v", p)
	}
	if c.Role != config.RoleGateway || c.Log.MaxBytes != 2<<30 || c.Log.Replicas != 3 || c.Log.Durability != config.OS ||
		c.Limits != (config.Limits{PerAddressRPS: 50, PerAddressConns: config.Unlimited, CoreConcurrency: 64}) || len(c.Origins) != 2 ||
		len(c.Auth.ServiceKeys) != 1 || c.Auth.ServiceKeys[0].Name != "shop" || c.Auth.ServiceKeys[0].SHA256[0] != 0x2b {
		t.Errorf("config = %+v", c)
	}
}

func TestEveryMistakeIsToldWithItsLine(t *testing.T) {
	text := `listen: nowhere
lisen: 127.0.0.1:8080
role: everything
log:
  url: http://a
  durability: maybe
  replicas: many
  retention: 7
  max_bytes: -1GB
store:
  url: memcached://a:7000
quota: { exact_per_day: -2 }
limits: { per_address_rps: -2, per_address_conns: many }
cors: { origins: ["https://a", "https://b/"] }
auth:
  users: { mode: jwt }
  service:
    mode: keys
    keys:
      - { name: shop }
      - { name: "", sha256: topsecretkey }
boards:
  Power: { head: 0 }
  npm:
    order: down
    ties: both
    scale: "2"
    shards: 100
    seasons: [all, all]
    timezone: Local
    keep: { day: soon, year: 1h }
    head: 0
    freshness: 1
    snapshot_every: 0s
    dedupe: 1ms
    order: desc
  list: [1]
  none:
`
	_, err := config.Load(config.Source{File: write(t, text)})
	want := []string{
		`rankgate.yaml:1: listen: "nowhere" is not an address`,
		`rankgate.yaml:2: lisen: unknown key`,
		`rankgate.yaml:3: role: "everything" is not one of all, gateway, core`,
		`rankgate.yaml:5: log.url: want embedded, or nats://`,
		`rankgate.yaml:6: log.durability: "maybe" is not one of fsync, os`,
		`rankgate.yaml:7: log.replicas: want a whole number, got "many"`,
		`rankgate.yaml:8: log.retention: "7" is not a duration`,
		`rankgate.yaml:9: log.max_bytes: "-1GB" is not a size`,
		`rankgate.yaml:11: store.url: want embedded, redis://`,
		`rankgate.yaml:12: quota.exact_per_day: -2 is not within -1..`,
		`rankgate.yaml:13: limits.per_address_rps: -2 is not within -1..`,
		`rankgate.yaml:13: limits.per_address_conns: want a whole number, got "many"`,
		`rankgate.yaml:14: cors.origins: "https://b/" is not an origin such as`,
		`rankgate.yaml:16: auth.users.mode: jwt needs either auth.users.jwt.hs256_secret or`,
		`rankgate.yaml:20: auth.service.keys[0]: needs name and sha256`,
		`rankgate.yaml:21: auth.service.keys[1].name: must not be empty`,
		`rankgate.yaml:21: auth.service.keys[1].sha256: want the key's SHA-256`,
		`rankgate.yaml:23: boards.Power: a board name is`,
		`rankgate.yaml:23: boards.Power.head: 0 is not within 1..`,
		`rankgate.yaml:25: boards.npm.order: "down" is not one of desc, asc`,
		`rankgate.yaml:26: boards.npm.ties: "both" is not one of shared, first`,
		`rankgate.yaml:27: boards.npm.scale: want a whole number, got "2"`,
		`rankgate.yaml:28: boards.npm.shards: 100 is not a power of two`,
		`rankgate.yaml:29: boards.npm.seasons: all is named twice`,
		`rankgate.yaml:30: boards.npm.timezone: "Local" is not an IANA time zone`,
		`rankgate.yaml:31: boards.npm.keep.day: "soon" is not a duration`,
		`rankgate.yaml:31: boards.npm.keep.year: unknown key`,
		`rankgate.yaml:32: boards.npm.head: 0 is not within 1..`,
		`rankgate.yaml:33: boards.npm.freshness: "1" is not a duration`,
		`rankgate.yaml:34: boards.npm.snapshot_every: 0s is not longer than nothing`,
		`rankgate.yaml:35: boards.npm.dedupe: 1ms is shorter than 1s`,
		`rankgate.yaml:36: boards.npm.order: given twice; first on line 25`,
		`rankgate.yaml:37: boards.list: want a mapping`,
		`rankgate.yaml:38: boards.none: has no value; want a mapping`,
	}
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Load: %v, want Problems", err)
	}
	for i, p := range problems {
		if i >= len(want) || !strings.HasPrefix(p.String(), want[i]) {
			t.Errorf("problem %d is %q, want %q", i, p, append(want, "none")[min(i, len(want))])
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems, want %d:\n%v", len(problems), len(want), err)
	}
	if strings.Contains(err.Error(), "topsecretkey") {
		t.Error("the error repeats a value that may be a secret")
	}
}

func TestBrokenFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"not YAML":       {"listen: [\nrole: all", "rankgate.yaml:"},
		"a list":         {"- a\n- b", "rankgate.yaml:1: want a mapping"},
		"text":           {"hello", "rankgate.yaml:1: want a mapping"},
		"two documents":  {"role: all\n---\nrole: all", "rankgate.yaml:3: a second document"},
		"anchors":        {"role: &r all\ndata: *r", "rankgate.yaml:1: role: anchors"},
		"bytes":          {"\x00\x01", "rankgate.yaml:1: "},
		"bare embedded":  {"role: core", "rankgate.yaml:1: role: core needs log.url and store.url"},
		"keys, no mode":  {"auth: {service: {keys: [{name: a, sha256: " + strings.Repeat("ab", 32) + "}]}}", "rankgate.yaml:1: auth.service.keys: given, but"},
		"embedded three": {"log: {replicas: 3}", "rankgate.yaml:1: log.replicas: the embedded log keeps one copy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(config.Source{File: write(t, c.text)})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("Load = %v, want %q", err, c.want)
			}
		})
	}
	load(t, config.Source{File: write(t, "")})
	load(t, config.Source{File: write(t, "# nothing but a comment\n")})
	if _, err := config.Load(config.Source{File: "missing.yaml"}); err == nil || !strings.Contains(err.Error(), "missing.yaml: cannot be read") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestFlagsWinOverVariablesOverFile(t *testing.T) {
	file := write(t, "listen: 127.0.0.1:1\ndata: /file\nrole: all\nboards: {power-up: {shards: 2}}")
	environ := []string{
		"HOME=/root", "RANKGATE_LISTEN=127.0.0.1:2", "RANKGATE_DATA=/env", "RANKGATE_LOG__MAX_BYTES=5MB",
		"RANKGATE_BOARDS__POWER_UP__SHARDS=8", "RANKGATE_BOARDS__NEW__SEASONS=all, day", "RANKGATE_BOARDS__NEW__KEEP__DAY=1h",
		"RANKGATE_AUTH__SERVICE__MODE=keys", "RANKGATE_AUTH__SERVICE__KEYS=[{name: a, sha256: " + strings.Repeat("ab", 32) + "}]",
		"RANKGATE_KEY=k", "RANKGATE_PORT_8080_TCP=tcp://10.0.0.1:8080", "RANKGATE_SERVICE_HOST=10.0.0.1",
	}
	c := load(t, config.Source{File: file, Environ: environ, Flags: []config.Flag{{Name: "--listen", Key: "listen", Value: "127.0.0.1:3"}}})
	if c.Listen != "127.0.0.1:3" || c.Data != "/env" || c.Log.MaxBytes != 5e6 || len(c.Auth.ServiceKeys) != 1 {
		t.Errorf("config = %+v", c)
	}
	if got := c.BoardNames(); !cmp.Equal(got, []string{"new", "power-up"}) {
		t.Fatalf("boards = %v", got)
	}
	if c.Boards[1].Shards != 8 || !c.Boards[0].Has(rankcore.Day) || c.Boards[0].Keep[rankcore.Day] != time.Hour {
		t.Errorf("boards = %+v, %+v", c.Boards[0], c.Boards[1])
	}
}

func TestMistakesOutsideTheFileAreNamed(t *testing.T) {
	_, err := config.Load(config.Source{
		File: write(t, "role: nobody"),
		Environ: []string{
			"RANKGATE_LISTE=x", "RANKGATE_LOG__URL=ftp://u:topsecret@h", "RANKGATE_ROLE__X=1",
			"RANKGATE_QUOTA__EXACT_PER_DAY=x", "RANKGATE_BOARDS__A__SHARDS=3",
		},
		Flags: []config.Flag{{Name: "--data", Key: "data"}},
	})
	want := []string{
		"rankgate.yaml:1: role: ", "RANKGATE_BOARDS__A__SHARDS: 3 is not a power of two", "RANKGATE_LISTE: unknown key",
		"RANKGATE_LOG__URL: want embedded", "RANKGATE_QUOTA__EXACT_PER_DAY: want a whole number", "RANKGATE_ROLE__X: unknown key", "--data: must not be empty",
	}
	lines := strings.Split(err.Error(), "\n")
	for i := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want[i]) {
			t.Fatalf("problems:\n%v\nwant line %d to begin %q", err, i, want[i])
		}
	}
	if strings.Contains(err.Error(), "topsecret") {
		t.Error("the error shows a password")
	}
}

func TestPrintMasksAndReadsBack(t *testing.T) {
	c := load(t, config.Source{File: write(t, full)})
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", "2bb80d53"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is printed:\n%s", secret, &out)
		}
	}
	plain := strings.ReplaceAll(out.String(), `sha256: "****"`, "sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b")
	plain = strings.ReplaceAll(plain, "****", "secret")
	again := load(t, config.Source{File: write(t, plain)})
	opts := cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })
	if diff := cmp.Diff(c, again, opts); diff != "" {
		t.Errorf("printed and read back (-was +is):\n%s\n%s", diff, plain)
	}
}

func TestByteOrderMarkIsNoKey(t *testing.T) {
	if c := load(t, config.Source{File: write(t, "\ufefflisten: 127.0.0.1:9000\r\n")}); c.Listen != "127.0.0.1:9000" {
		t.Errorf("listen = %s", c.Listen)
	}
}

func TestAnchorsAreNamed(t *testing.T) {
	_, err := config.Load(config.Source{File: write(t, "boards:\n  a: &x\n    scale: 2\n  b: *x\n")})
	if err == nil || strings.Count(err.Error(), "aliases (*)") != 2 {
		t.Errorf("Load: %v, want both lines told", err)
	}
}

func TestMaskURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"embedded", "embedded"},
		{"redis://h:6379/0", "redis://h:6379/0"},
		{"redis://:pw@h:6379/0", "redis://:****@h:6379/0"},
		{"nats://token@h:4222", "nats://****@h:4222"},
		{"redis+cluster://u:pw@a:7000,u:pw@b:7000", "redis+cluster://u:****@a:7000,****@b:7000"},
		{"nats://u:p@h:4222,nats://u:p@i:4222", "nats://u:****@h:4222,nats://u:****@i:4222"},
		{"redis://h:6379/0?password=pw&read_only=1", "redis://h:6379/0?password=****&read_only=1"},
	} {
		if got := config.MaskURL(c.in); got != c.want {
			t.Errorf("MaskURL(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "localhost:80": true, "[::1]:80": true, "127.9.9.9:0": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "example.com:80": false, "127.0.0.1": false,
	} {
		if got := config.IsLoopback(addr); got != want {
			t.Errorf("IsLoopback(%q) = %v, want %v", addr, got, want)
		}
	}
}
