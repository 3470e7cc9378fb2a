package main

import (
	"time"

	"github.com/spf13/cobra"

	"rankgate/loadtest"
)

func chaosCommand() *cobra.Command {
	var cfg loadtest.ChaosConfig
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Kill a rankgate under load and compare it with what it acknowledged",
		Long: "chaos starts a rankgate of its own on a free loopback port with its data in a temporary folder, writes\n" +
			"to three boards from several sides, reads them all the while, and kills the process (kill -9) at\n" +
			"moments that the seed chooses. At the end every row, rank, tie and total must be what a fold of the\n" +
			"acknowledged operations says. It exits with 1 if anything was wrong, then or on the way.\n\n" +
			"kill -9 is not a power loss: what the process had written survives in the system's page cache.",
		Example: "  go build -o rankgate ./cmd/rankgate && loadtest chaos --binary ./rankgate --for 1m --kills 10",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.Validate(); err != nil {
				return err
			}
			cfg.Out = cmd.ErrOrStderr()
			report, err := loadtest.Chaos(cmd.Context(), cfg)
			if err != nil {
				return failure{err}
			}
			if err := show(cmd.OutOrStdout(), report, asJSON); err != nil || !report.Right() {
				return failure{err}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Binary, "binary", "", "the rankgate to start and kill")
	f.StringVar(&cfg.Store, "store", "embedded", "where its shards live: embedded, or redis (starts a redis-server, which is not killed)")
	f.DurationVar(&cfg.For, "for", 30*time.Second, "how long writes go on")
	f.IntVar(&cfg.Kills, "kills", 5, "kills, spread over that time")
	f.IntVar(&cfg.Writers, "writers", 4, "writers for each board")
	f.IntVar(&cfg.Batch, "batch", 50, "operations in one write, 1 to 1000")
	f.IntVar(&cfg.Users, "users", 100, "users of each writer")
	f.DurationVar(&cfg.Settle, "settle", 30*time.Second, "how long the boards may take to show the truth after the last write")
	f.Uint64Var(&cfg.Seed, "seed", 1, "the same seed writes the same and kills at the same moments")
	f.BoolVar(&asJSON, "json", false, "report as JSON")
	return cmd
}
