package main

import (
	"time"

	"github.com/spf13/cobra"

	"rankgate/loadtest"
	"rankgate/rankcore"
)

func runCommand() *cobra.Command {
	cfg := loadtest.LoadConfig{Board: &rankcore.Board{}}
	var kind, board, shape string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Put reads and writes on a running rankgate at fixed rates",
		Long: "run sends requests on a fixed timetable, whether the server keeps up or not, and measures each from\n" +
			"the moment it was meant to start: the wait behind a slow server is in the figures, as it is in a\n" +
			"player's day. Requests that started over 1 ms late, because all connections were busy, are counted.\n\n" +
			"The target must be on this machine. Load can hurt whoever answers, and written scores stay: to aim\n" +
			"at another machine, one you may break, say --allow-remote.",
		Example: "  loadtest run --board demo --reads 5000 --for 30s\n" +
			"  loadtest run --board demo --writes 5000 --watch http://127.0.0.1:8081\n" +
			"  loadtest run --board demo --writes 20000 --batch 100 --op add --for 1m --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := rankcore.ParseBoardID(board)
			if err != nil {
				return err
			}
			cfg.Board.ID, cfg.Shape = id, loadtest.Shape(shape)
			if cfg.Kind, err = scoreKind(kind); err != nil {
				return err
			}
			report, err := loadtest.Run(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if err := show(cmd.OutOrStdout(), report, asJSON); err != nil {
				return failure{err}
			}
			for _, k := range report.Kinds {
				if k.Sent > 0 && len(k.HTTP) == 0 {
					return failure{} // nobody answered; the report says why
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Client.URL, "url", "http://127.0.0.1:8080", "the server's address, without a path")
	f.StringVar(&cfg.Client.Key, "key", "", "service key for writes")
	f.BoolVar(&cfg.Client.AllowRemote, "allow-remote", false, "let the target be another machine, which the load may hurt")
	f.IntVar(&cfg.Client.Connections, "connections", 64, "connections for each of top, rank and write; as many requests are under way at most")
	f.DurationVar(&cfg.Client.Timeout, "timeout", 10*time.Second, "how long to wait for one answer")
	f.StringVar(&board, "board", "demo", "the board")
	f.DurationVar(&cfg.For, "for", 10*time.Second, "how long")
	f.Float64Var(&cfg.Reads, "reads", 0, "reads a second")
	f.Float64Var(&cfg.TopShare, "top-share", 0.2, "this part of the reads asks for the top, the others for a user's rank")
	f.IntVar(&cfg.TopLimit, "top-limit", 100, "rows of each top")
	f.Float64Var(&cfg.Ops, "writes", 0, "operations written a second, each with an id")
	f.IntVar(&cfg.Batch, "batch", 100, "operations in one write, 1 to 1000")
	f.StringVar(&kind, "op", "set", "what the operations are: add, set or best, as the board takes them; set is always taken")
	f.BoolVar(&cfg.Wait, "wait-applied", false, "writes ask to be answered when they are applied")
	f.IntVar(&cfg.Board.Scale, "scale", 0, "the board's decimal places")
	f.IntVar(&cfg.Users, "users", 100_000, "users asked about and written to, named u0, u1, ...")
	f.StringVar(&shape, "shape", string(loadtest.Zipf), "how often each: zipf (few very often) or uniform")
	f.StringSliceVar(&cfg.Watch, "watch", nil, "URLs of gateways: how long after its acknowledgement does a write show there?")
	f.Uint64Var(&cfg.Seed, "seed", 1, "the same seed asks about the same users")
	f.BoolVar(&asJSON, "json", false, "report as JSON")
	return cmd
}

func scoreKind(name string) (rankcore.OpKind, error) {
	var u rankcore.Update
	if err := u.UnmarshalText([]byte(name)); err != nil {
		return 0, err
	}
	return [...]rankcore.OpKind{
		rankcore.UpdateAdd: rankcore.OpAdd, rankcore.UpdateSet: rankcore.OpSet, rankcore.UpdateBest: rankcore.OpBest,
	}[u], nil
}
