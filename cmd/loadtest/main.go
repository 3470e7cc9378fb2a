// Command loadtest puts load on a running rankgate, and hurts one of its own to see what is lost.
//
// It parses flags and prints reports; what it does lives in package loadtest.
// It may import loadtest, rankcore for its words, and cobra.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: 0 is well, 1 means that the thing asked for failed, 2 a wrong use.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:   "loadtest",
		Short: "Load and faults for rankgate, with honest figures",
		Long: "loadtest measures a running rankgate by URL (run), or starts one of its own, kills it under load\n" +
			"and compares every score and rank with what was acknowledged (chaos), or takes Redis away from under too\n" +
			"much load (outage).",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(runCommand(), chaosCommand(), outageCommand())
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var failed failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		if failed.error != nil {
			fmt.Fprintln(errs, "loadtest:", failed.error)
		}
		return 1
	default: // flags, arguments and configurations that are wrong
		fmt.Fprintln(errs, "loadtest:", err)
		return 2
	}
}

// failure is the end of a command that was used rightly and did not succeed; a nil error in it has been
// told by a report.
type failure struct{ error }
