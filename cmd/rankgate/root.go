package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rankgate/cmd/rankgate/internal/config"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // the thing asked for failed
	exitUsage  = 2 // wrong usage or configuration
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// isTerminal reports whether a person looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// run runs one command and returns the exit code. It is main without the process, for tests.
func run(ctx context.Context, args []string, io streams) int {
	started := false // the arguments were understood
	root := newRoot(io)
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var problems config.Problems
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &problems): // each on its own line, to be read like a compiler's
		fmt.Fprintln(io.err, problems)
		return exitUsage
	}
	fmt.Fprintln(io.err, "rankgate:", strings.Join(strings.Fields(err.Error()), " "))
	if !started {
		return exitUsage
	}
	return exitFailed
}

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "rankgate",
		Short: "A gateway for leaderboards of up to hundreds of millions of users",
		Long: `rankgate answers "who is on top?" and "what is my rank?" from memory, over HTTP, while scores move.
Services send it score operations, which it keeps in a durable log and applies exactly once.
With nothing configured it keeps everything in this process and under ./data.`,
		Example: `  rankgate demo                                  a board with simulated players, and a page to look at
  rankgate serve                                 your own board "demo" on http://127.0.0.1:8080
  curl -d '{"ops":[{"user":"alice","add":5}]}' -H 'Content-Type: application/json' \
       http://127.0.0.1:8080/v1/boards/demo/scores
  curl http://127.0.0.1:8080/v1/boards/demo/top`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          commandsOnly,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.AddCommand(newServe(io), newDemo(io), newImport(io), newExport(io), newVerify(io), newPlan(io), newConfig(io), newVersion(io), newHealthcheck(io))
	return root
}

// exactArgs takes n arguments, and says which when there are more or fewer.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// commandsOnly is for a command that does nothing but hold others.
func commandsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters that may differ
	hint := cmd.CommandPath() + " --help lists them"
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		hint = "did you mean " + strings.Join(like, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q: %s", args[0], hint)
}

// settings are the flags that name a configuration, shared by the commands that need one.
type settings struct {
	file string
	keys []string // each with a flag of its name
}

// configFlags gives cmd the flag --config and one for each of the keys.
func configFlags(cmd *cobra.Command, keys ...string) *settings {
	s := &settings{keys: keys}
	what := map[string]string{
		"listen": "address to serve on, such as 0.0.0.0:8080",
		"data":   "folder of everything that is kept",
		"role":   "all, gateway (only the public face) or core (only applier and upkeep)",
	}
	cmd.Flags().StringVar(&s.file, "config", "", "YAML file; RANKGATE_ variables and flags win over it")
	for _, key := range keys {
		cmd.Flags().String(key, "", what[key])
	}
	return s
}

// load reads the configuration that the flags of cmd describe.
func (s *settings) load(cmd *cobra.Command) (*config.Config, error) {
	src := config.Source{File: s.file, Environ: os.Environ()}
	for _, key := range s.keys {
		if flag := cmd.Flags().Lookup(key); flag.Changed {
			src.Flags = append(src.Flags, config.Flag{Name: "--" + key, Key: key, Value: flag.Value.String()})
		}
	}
	return config.Load(src)
}
