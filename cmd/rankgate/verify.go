package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/remote"
	"rankgate/cmd/rankgate/internal/verify"
)

func newVerify(io streams) *cobra.Command {
	var o verify.Options
	cmd := &cobra.Command{
		Use:   "verify BOARD",
		Short: "Compare a board's counts and positions with its members and the log",
		Long: `verify has a running server audit every shard of a board: each segment is recounted from its members, every
part of a shard is held against its count, and the shard's position against the log. A server that keeps a count
index also compares it with what the shards count together.

It exits with 1 when something drifts, also when that was repaired. With --repair wrong segment counts are put
right, a wrong index is built anew, and a shard that is not whole is waited for until it has been fed from the log, which happens by itself.
Servers audit and repair all the time; this is for being sure now.

When /readyz says "rebuild needed", the log no longer reaches back to where some shards stand, and they stand still.
Put an older copy of their data back, if there is one. If not, --repair --accept-loss lets them go on with what the log
still has: what stood in between is lost, a shard that is not whole starts empty, and both stay flagged as lossy.`,
		Example: `  rankgate verify power
  rankgate verify power --repair --server https://rank.example.com`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := exactArgs(1)(cmd, args); err != nil {
				return err
			}
			if o.AcceptLoss && !o.Repair {
				return errors.New("--accept-loss is part of a repair: say --repair too")
			}
			_, err := remote.BoardURL(o.Server, args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&o.Repair, "repair", false, "put right what can be put right")
	cmd.Flags().BoolVar(&o.AcceptLoss, "accept-loss", false, "with --repair: let shards that need a rebuild go on with what the log still has")
	cmd.Flags().StringVar(&o.Server, "server", remote.Default, "URL of the server")
	cmd.Flags().StringVar(&o.Key, "key", os.Getenv("RANKGATE_KEY"), "service key; RANKGATE_KEY is not seen in the process list")
	cmd.Flags().Lookup("key").DefValue = "" // help must not show it
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Board = args[0]
		return verifyBoard(cmd.Context(), io, o)
	}
	return cmd
}

func verifyBoard(ctx context.Context, io streams, o verify.Options) error {
	watched := isTerminal(io.err)
	var found []verify.Finding
	verdict, err := verify.Ask(ctx, o, func(f verify.Finding) {
		found = append(found, f)
		if watched {
			fmt.Fprintf(io.err, "\r\x1b[K%d shards audited", len(found))
		}
	})
	fmt.Fprint(io.err, clearLine(io))
	if err := verify.WriteTable(io.out, found); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if verdict.Shards == 0 { // there is nothing to sum up
		return verdict.Err()
	}
	if verdict.Accepted > 0 {
		fmt.Fprintf(io.out, "%d shards go on without what the log no longer has\n", verdict.Accepted)
	}
	fmt.Fprintf(io.out, "board %s: %d shards, %d scores, %d findings, %d repaired\n",
		o.Board, verdict.Shards, verdict.Members, verdict.Findings, verdict.Repaired)
	return verdict.Err()
}
