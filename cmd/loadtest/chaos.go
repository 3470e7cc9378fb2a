package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rankgate/loadtest"
)

func chaosCommand() *cobra.Command {
	var cfg loadtest.ChaosConfig
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Hurt a rankgate under load and compare it with what it acknowledged",
		Long: "chaos starts a rankgate of its own, and the redis-servers and nats-servers that the scenario needs, on free\n" +
			"loopback ports with their data in a temporary folder. It writes to three boards from several sides, reads\n" +
			"them all the while, and hurts what runs, one fault after another in an order that the seed chooses. At\n" +
			"the end every row, rank, tie, estimate and total must be what a fold of the acknowledged operations says. It\n" +
			"exits with 1 if anything was wrong, then or on the way, and keeps the servers' files and logs.\n\n" +
			"kill -9 is not a power loss: what a process had written survives in the system's page cache. So what a\n" +
			"power loss does is done by older copies of files and by replicas that lag.\n\n" +
			"Scenarios, any of them with commas between, or all:\n" + scenarioList(),
		Example: "  go build -o rankgate ./cmd/rankgate && loadtest chaos --binary ./rankgate --scenario redis,mix --for 1m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Out = cmd.ErrOrStderr()
			return judge(cmd, cfg.Validate, func(ctx context.Context) (verdict, error) { return loadtest.Chaos(ctx, cfg) }, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Binary, "binary", "", "the rankgate to start and hurt")
	f.StringVar(&cfg.Scenario, "scenario", "kill", "what is hurt, and how")
	f.IntVar(&cfg.Runs, "runs", 1, "runs of each scenario, each with the seed after the last one's")
	f.DurationVar(&cfg.For, "for", 30*time.Second, "how long a run writes; longer when its faults take longer to come round once")
	f.IntVar(&cfg.Writers, "writers", 3, "writers for each board")
	f.IntVar(&cfg.Batch, "batch", 50, "operations in one write, 1 to 1000")
	f.IntVar(&cfg.Users, "users", 60, "users of each writer")
	f.DurationVar(&cfg.Settle, "settle", 30*time.Second, "how long the boards may take to show the truth after the last write")
	f.Uint64Var(&cfg.Seed, "seed", 1, "the same seed writes the same and chooses the same faults, as far as real processes are alike")
	f.BoolVar(&asJSON, "json", false, "report as JSON")
	return cmd
}

// scenarioList is a line for each scenario.
func scenarioList() string {
	var text strings.Builder
	for _, s := range loadtest.Scenarios() {
		fmt.Fprintf(&text, "  %-16s  %s\n", s.Name, s.About)
	}
	return text.String()
}
