package loadtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// Gate is a rankgate process that was started to be hurt.
type Gate struct {
	*servers.Process
	URL    string
	Boards []*rankcore.Board
}

// StartGate starts the binary with an embedded log, the store at the given URL, and boards that have between them both
// orders, all kinds of update and every season.
func StartGate(host servers.Host, binary, storeURL string) *Gate {
	host.Helper()
	binary, err := filepath.Abs(binary)
	if err != nil {
		host.Fatalf("%v", err)
	}
	dir := host.TempDir()
	g := &Gate{URL: fmt.Sprintf("http://127.0.0.1:%d", servers.FreePorts(host, 1)[0]), Boards: faultBoards()}
	config := filepath.Join(dir, "rankgate.yaml")
	if err := os.WriteFile(config, []byte(g.config(dir, storeURL)), 0o600); err != nil {
		host.Fatalf("%v", err)
	}
	g.Process = servers.Start(host, servers.Command{
		Name: "rankgate at " + g.URL, Path: binary, Args: []string{"serve", "--config", config}, Dir: dir,
		Ready: func() error { return servers.Answers(g.URL + "/readyz") }, // it can answer
	})
	return g
}

func (g *Gate) config(dir, storeURL string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "listen: %s\ndata: %s\nstore: { url: %q }\nboards:\n",
		strings.TrimPrefix(g.URL, "http://"), filepath.Join(dir, "data"), storeURL)
	for _, b := range g.Boards {
		var seasons []string
		for _, s := range b.Seasons {
			seasons = append(seasons, s.String())
		}
		fmt.Fprintf(&text, "  %s: { order: %v, update: %v, shards: %d, seasons: [%s], timezone: %v, head: %d }\n",
			b.ID, b.Order, b.Update, b.Shards, strings.Join(seasons, ", "), b.Location, b.Head)
	}
	return text.String()
}

// faultBoards are the boards of a fault scenario. What is not in the configuration is its default.
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
	return []*rankcore.Board{
		board("sums", rankcore.Desc, rankcore.UpdateAdd, rankcore.All, rankcore.Day, rankcore.Week, rankcore.Month),
		board("times", rankcore.Asc, rankcore.UpdateBest, rankcore.All),
		board("last", rankcore.Desc, rankcore.UpdateSet, rankcore.All, rankcore.Day),
	}
}
