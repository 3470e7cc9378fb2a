package loadtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// Gate is a rankgate process that was started to be hurt.
type Gate struct {
	*servers.Process
	URL    string
	Boards []*rankcore.Board
	Still  *rankcore.Board // nil: none
}

// GateConfig says what a gate is started as.
type GateConfig struct {
	Binary string
	Role   string            // "" is all
	Log    string            // URL; "" is embedded
	Store  string            // URL; "" is embedded
	Boards []*rankcore.Board // nil: those of the fault scenarios
	Still  bool              // it has a still board too
}

// StartGate starts the binary and returns when it is ready.
func StartGate(host servers.Host, cfg GateConfig) *Gate {
	host.Helper()
	binary, err := filepath.Abs(cfg.Binary)
	if err != nil {
		host.Fatalf("%v", err)
	}
	dir := host.TempDir()
	g := &Gate{URL: fmt.Sprintf("http://127.0.0.1:%d", servers.FreePorts(host, 1)[0]), Boards: cfg.Boards}
	if g.Boards == nil {
		g.Boards = faultBoards()
	}
	if cfg.Still {
		g.Still = stillBoard()
	}
	config := filepath.Join(dir, "rankgate.yaml")
	if err := os.WriteFile(config, []byte(g.config(dir, cfg)), 0o600); err != nil {
		host.Fatalf("%v", err)
	}
	role := orDefault(cfg.Role, "all")
	g.Process = servers.Start(host, servers.Command{
		Name: fmt.Sprintf("rankgate, role %s, at %s", role, g.URL),
		Path: binary, Args: []string{"serve", "--config", config, "--role", role}, Dir: dir,
		Ready: func() error { return servers.Answers(g.URL + "/readyz") }, // it can answer
	})
	return g
}

func (g *Gate) config(dir string, cfg GateConfig) string {
	var text strings.Builder
	fmt.Fprintf(&text, "listen: %s\ndata: %s\nlog: { url: %q }\nstore: { url: %q }\nquota: { exact_per_day: -1 }\nboards:\n",
		strings.TrimPrefix(g.URL, "http://"), filepath.Join(dir, "data"),
		orDefault(cfg.Log, "embedded"), orDefault(cfg.Store, "embedded"))
	for _, b := range g.all() {
		var seasons []string
		for _, s := range b.Seasons {
			seasons = append(seasons, s.String())
		}
		fmt.Fprintf(&text, "  %s: { order: %v, update: %v, ties: %v, shards: %d, seasons: [%s], timezone: %v, head: %d }\n",
			b.ID, b.Order, b.Update, b.Ties, b.Shards, strings.Join(seasons, ", "), b.Location, b.Head)
	}
	return text.String()
}

// all are the gate's boards, those that are written to first.
func (g *Gate) all() []*rankcore.Board {
	if g.Still == nil {
		return g.Boards
	}
	return append(slices.Clone(g.Boards), g.Still)
}

// tells is nil when the gate's readiness says text.
func (g *Gate) tells(text string) error {
	body, err := g.get("/readyz")
	if err == nil && !strings.Contains(body, text) {
		err = fmt.Errorf("no %q in %s", text, body)
	}
	return err
}

// metric is the sum of a metric over its labels, or over those series that have the given values among theirs; 0 while the
// gate does not answer.
func (g *Gate) metric(name string, values ...string) (sum float64) {
	body, _ := g.get("/metrics")
	for line := range strings.Lines(body) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		named, labels, _ := strings.Cut(series, "{")
		if named == name && !slices.ContainsFunc(values, func(v string) bool { return !strings.Contains(labels, strconv.Quote(v)) }) {
			n, _ := strconv.ParseFloat(value, 64)
			sum += n
		}
	}
	return sum
}

func (g *Gate) get(path string) (body string, err error) {
	status, text, err := fasthttp.GetTimeout(nil, g.URL+path, time.Second)
	if err == nil && status != fasthttp.StatusOK {
		err = fmt.Errorf("%s says %d", path, status)
	}
	return string(text), err
}

// faultBoards are the boards of a fault scenario, which have between them both orders, both rules for ties, all kinds
// of update and every season. What is not in the configuration is its default.
func faultBoards() []*rankcore.Board {
	board := func(id rankcore.BoardID, o rankcore.Order, u rankcore.Update, seasons ...rankcore.SeasonKind) *rankcore.Board {
		return &rankcore.Board{
			ID: id, Order: o, Update: u, Shards: 8, Seasons: seasons, Location: time.UTC, Head: 200,
			Dedupe: 10 * time.Minute, Freshness: time.Second,
			Keep: map[rankcore.SeasonKind]time.Duration{
				rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour, rankcore.Month: 2160 * time.Hour,
			},
		}
	}
	last := board("last", rankcore.Desc, rankcore.UpdateSet, rankcore.All, rankcore.Day)
	last.Ties = rankcore.TiesFirst
	return []*rankcore.Board{
		board("sums", rankcore.Desc, rankcore.UpdateAdd, rankcore.All, rankcore.Day, rankcore.Week, rankcore.Month),
		board("times", rankcore.Asc, rankcore.UpdateBest, rankcore.All),
		last,
	}
}
