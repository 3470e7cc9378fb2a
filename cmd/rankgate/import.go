package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/importer"
	"rankgate/cmd/rankgate/internal/remote"
)

// importPatience is how long one batch is tried while the server restarts or its log is away.
const importPatience = 2 * time.Minute

func newImport(io streams) *cobra.Command {
	o := importer.SendOptions{Patience: importPatience}
	var skipBad bool
	cmd := &cobra.Command{
		Use:   "import BOARD FILE",
		Short: "Send rows of a file to a running server, best scores first",
		Long: `import sets the score of every user in FILE on a running server.

FILE is CSV or NDJSON of user and score, or one JSON object of user -> score; gzip too; - is stdin. What it is
is told by its content. Every row is checked before the first is sent: a bad one stops it, naming the line.

It is safe to run again. The same file sent again within the board's dedupe horizon changes nothing;
after that it sets the scores again. A server that goes away on the way is waited for, two minutes.`,
		Example: `  rankgate import power scores.csv
  rankgate import power scores.ndjson.gz --server https://rank.example.com --rate 5000
  echo '{"alice":120,"bob":77}' | RANKGATE_KEY=... rankgate import power -`,
		Args: exactArgs(2),
	}
	cmd.Flags().StringVar(&o.Server, "server", remote.Default, "URL of the server")
	cmd.Flags().StringVar(&o.Key, "key", os.Getenv("RANKGATE_KEY"), "service key; RANKGATE_KEY is not seen in the process list")
	cmd.Flags().Lookup("key").DefValue = "" // help must not show it
	cmd.Flags().IntVar(&o.Rate, "rate", 0, "rows per second; 0 is as fast as the server takes them")
	cmd.Flags().BoolVar(&skipBad, "skip-bad", false, "leave bad rows out and count them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Board = args[0]
		return importFile(cmd.Context(), io, args[1], skipBad, o)
	}
	return cmd
}

func importFile(ctx context.Context, io streams, file string, skipBad bool, o importer.SendOptions) error {
	start := time.Now()
	board, err := importer.AskBoard(ctx, o)
	if err != nil {
		return err
	}
	rows, err := importer.ReadFile(file, io.in, importer.Options{Scale: board.Scale, SkipBad: skipBad})
	if file == "-" {
		file = "stdin"
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if n, first := rows.Skipped(); n > 0 {
		fmt.Fprintf(io.err, "rankgate: %s: %d bad rows left out, the first: %v\n", file, n, first)
	}
	o.Say = func(line string) { fmt.Fprintf(io.err, "%srankgate: %s\n", clearLine(io), line) }
	var sent atomic.Int64
	stopBar := showProgress(ctx, io, rows.Len(), &sent)
	err = importer.Send(ctx, rows, board, o, &sent)
	stopBar()
	if err != nil {
		return fmt.Errorf("%d of %d rows sent, then: %w", sent.Load(), rows.Len(), err)
	}
	spent := time.Since(start).Seconds()
	fmt.Fprintf(io.out, "%d rows in %.2f s, %.0f rows/s\n", rows.Len(), spent, float64(rows.Len())/spent)
	return nil
}

// clearLine takes away what stands on the line of a terminal, a bar for example.
func clearLine(io streams) string {
	if isTerminal(io.err) {
		return "\r\x1b[K"
	}
	return ""
}

// showProgress draws a bar when somebody looks. The function it returns takes it away.
func showProgress(ctx context.Context, io streams, total int, sent *atomic.Int64) (stop func()) {
	if !isTerminal(io.err) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		importer.ShowProgress(ctx, io.err, total, sent)
	}()
	return func() {
		cancel()
		<-done
	}
}
