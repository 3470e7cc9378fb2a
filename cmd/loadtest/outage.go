package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"rankgate/loadtest"
)

func outageCommand() *cobra.Command {
	var cfg loadtest.OutageConfig
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "outage",
		Short: "Take Redis away from under too much load, and see whether answers come back",
		Long: "outage starts a gateway, a core, a redis-server and a nats-server, on free loopback ports with their data in\n" +
			"a temporary folder, and fills a board. It measures how many ranks of random users can be answered in a\n" +
			"second, and then asks for --factor times as many on a fixed timetable, whatever the answers do. Redis is\n" +
			"frozen for --for, and in a second run killed, each time under a gateway that starts with nothing in memory.\n\n" +
			"An answer counts as fresh when it is a 200 that says so and comes within a second of the moment at which it\n" +
			"was meant to be asked for; what cannot be asked by then, as --readers questions wait for answers, is late\n" +
			"and is not asked any more. The older ones are 200 too, and show a rank that is stale or partial; updating\n" +
			"ones show none. Some of the load is answered from memory: with U users, about rate/U of it.\n\n" +
			"Readers have their answers again when, over three seconds, there are --share as many fresh ones as there\n" +
			"were before the outage. It exits with 1 if that takes longer than --within, if there were fewer before than\n" +
			"half of what can be answered, or if any answer is an error, is called fresh and is older than a second, or\n" +
			"is older than one before it.\n\n" +
			"All of it shares this machine: what load takes, rankgate lacks. So take the shares, not the rates. With --delay 0\n" +
			"the processors are what bounds the answers, and twice the load has to fail where it runs on them too: turning\n" +
			"a question away takes half as much of them as answering it.",
		Example: "  go build -o rankgate ./cmd/rankgate && loadtest outage --binary ./rankgate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Out = cmd.ErrOrStderr()
			return judge(cmd, cfg.Validate, func(ctx context.Context) (verdict, error) { return loadtest.Outage(ctx, cfg) }, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Binary, "binary", "", "the rankgate to start")
	f.IntVar(&cfg.Users, "users", 100_000, "users of the board")
	f.DurationVar(&cfg.Before, "before", 10*time.Second, "how long the load is on before the outage")
	f.DurationVar(&cfg.For, "for", 20*time.Second, "how long Redis is away")
	f.DurationVar(&cfg.Within, "within", 10*time.Second, "how soon after it readers must have their answers again")
	f.Float64Var(&cfg.Share, "share", 0.95, "of the fresh answers of before")
	f.Float64Var(&cfg.Factor, "factor", 2, "the load is so many times what can be answered")
	f.IntVar(&cfg.Readers, "readers", 2048, "questions under way at most")
	f.DurationVar(&cfg.Delay, "delay", 10*time.Millisecond, "each reply of Redis is so late: it bounds the answers then, and not this machine")
	f.Uint64Var(&cfg.Seed, "seed", 1, "the same seed asks about the same users")
	f.BoolVar(&asJSON, "json", false, "report as JSON")
	return cmd
}
