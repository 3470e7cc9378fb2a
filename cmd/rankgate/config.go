package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/config"
)

func newConfig(io streams) *cobra.Command {
	group := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or show the effective one",
		Example: `  rankgate config print > rankgate.yaml          every key with its default, to start from
  rankgate config check rankgate.yaml            every mistake at once, each with its line
  RANKGATE_BOARDS__POWER__UPDATE=best rankgate config print --config rankgate.yaml`,
		Args: commandsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newConfigCheck(io), newConfigPrint(io))
	return group
}

func newConfigCheck(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Tell every mistake in a file, each with its line; variables are not looked at",
		Args:  exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := config.Load(config.Source{File: args[0]}); err != nil {
				return err
			}
			fmt.Fprintf(io.out, "%s: ok\n", args[0])
			return nil
		},
	}
}

func newConfigPrint(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Show the configuration that serve would use, as YAML with every secret masked",
		Args:  cobra.NoArgs,
	}
	s := configFlags(cmd, "listen", "data", "role")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		return cfg.Print(io.out)
	}
	return cmd
}
