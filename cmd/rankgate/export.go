package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/exporter"
	"rankgate/cmd/rankgate/internal/importer"
	"rankgate/cmd/rankgate/internal/remote"
)

// exportPatience is how long one page is tried while the server restarts or its shards are away.
const exportPatience = 2 * time.Minute

func newExport(io streams) *cobra.Command {
	o := exporter.Options{Patience: exportPatience}
	var format string
	cmd := &cobra.Command{
		Use:   "export BOARD",
		Short: "Write a whole board from a running server, in rank order",
		Long: `export writes rank, user and score of every member of a board to stdout, best first.

It reads page by page and needs memory for one. The board goes on meanwhile: a member whose score does not change
is written once, others may come twice or not at all. A server that goes away meanwhile is waited for. What it writes, import
reads.`,
		Example: `  rankgate export power > power.csv
  rankgate export power --season month:2026-11 --format ndjson | gzip > november.ndjson.gz`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := exactArgs(1)(cmd, args); err != nil {
				return err
			}
			if !slices.Contains(exporter.Formats, format) {
				return fmt.Errorf("--format is one of %s", strings.Join(exporter.Formats, ", "))
			}
			_, err := remote.BoardURL(o.Server, args[0])
			return err
		},
	}
	cmd.Flags().StringVar(&o.Season, "season", "", "all, day, week, month, or a past one such as day:2026-11-30")
	cmd.Flags().StringVar(&format, "format", "csv", "csv or ndjson")
	cmd.Flags().StringVar(&o.Server, "server", remote.Default, "URL of the server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Board = args[0]
		return exportBoard(cmd.Context(), io, format, o)
	}
	return cmd
}

func exportBoard(ctx context.Context, io streams, format string, o exporter.Options) error {
	// Nothing is written before a server has answered for the board: a header alone looks like an empty one.
	if _, err := importer.AskBoard(ctx, importer.SendOptions{Server: o.Server, Board: o.Board}); err != nil {
		return err
	}
	out, err := exporter.NewWriter(io.out, format)
	if err != nil {
		return err
	}
	sum, err := exporter.Walk(ctx, o, out.Write)
	if err != nil && sum.Rows == 0 {
		return fmt.Errorf("nothing written: %w", err)
	}
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return fmt.Errorf("%d rows written, then: %w", sum.Rows, err)
	}
	if sum.NotFresh > 0 {
		fmt.Fprintf(io.err, "rankgate: %d pages were not fresh, the last because of %s\n", sum.NotFresh, sum.Reason)
	}
	return nil
}
