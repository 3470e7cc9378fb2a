package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/plan"
)

func newPlan(io streams) *cobra.Command {
	var l plan.Load
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan --users N",
		Short: "Shards, memory, nodes and log size for a load, with the formulas",
		Long: `plan works out what a board of that size and load needs: shards, Redis memory and masters, the log, gateways.
It asks no server. Each figure stands with its formula, so that another constant is easily put in.`,
		Example: `  rankgate plan --users 100000000 --active 10000000 --writes 20000 --reads 50000`,
	}
	f := cmd.Flags()
	f.Int64Var(&l.Users, "users", 0, "ranked users")
	f.Int64Var(&l.Active, "active", 0, "users who score within a day (default a tenth of all)")
	f.Int64Var(&l.IDSize, "id-bytes", 16, "bytes of a user id, on average")
	f.Float64Var(&l.Writes, "writes", 0, "operations a second")
	f.Float64Var(&l.Reads, "reads", 0, "reads a second")
	f.BoolVar(&asJSON, "json", false, "as JSON: bytes, cores and counts")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := cobra.NoArgs(cmd, args); err != nil {
			return err
		}
		if !cmd.Flags().Changed("active") {
			l.Active = max(l.Users, 0) / 10
		}
		if !cmd.Flags().Changed("users") { // cobra's own check comes too late to be a wrong use
			return errors.New("say how many --users")
		}
		return l.Check()
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		needs := plan.For(l)
		if asJSON {
			encoder := json.NewEncoder(io.out)
			encoder.SetIndent("", "  ")
			return encoder.Encode(needs)
		}
		return plan.WriteText(io.out, l, needs)
	}
	return cmd
}
