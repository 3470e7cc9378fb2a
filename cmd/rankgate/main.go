// Command rankgate is the one binary: a leaderboard gateway and its core, in one process or in several.
//
// It reads the configuration, wires the parts in the order of the flow, runs them and stops them in reverse.
// It holds no ranking logic, and is the only package that may import everything.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// More signals change nothing: a stop is bounded, and some senders tell the process and its group.
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP) // the terminal is gone
	}
	ctx, _ := signal.NotifyContext(context.Background(), ends...)
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
