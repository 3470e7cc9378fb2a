package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rankgate/rankcore"
)

// ChaosConfig says how to hurt rankgate under load: whatever fails, it must lose nothing it has acknowledged, count nothing
// twice, and show the truth soon after.
type ChaosConfig struct {
	Binary   string        // the rankgate to hurt
	Scenario string        // a name of Scenarios, several with commas between, or all
	Runs     int           // of each scenario, each with the seed after the last one's
	For      time.Duration // how long a run writes; longer when its faults take longer to come round once
	Writers  int           // for each board
	Batch    int
	Users    int           // of each writer
	Settle   time.Duration // how long the boards may take to show the truth after the last write
	Seed     uint64        // of the first run
	Out      io.Writer     // progress, and the logs of servers when something is wrong
}

// Validate reports everything that is wrong with the configuration.
func (c *ChaosConfig) Validate() error {
	var wrong mistakes
	wrong.add(c.Binary == "", "binary: name the rankgate to start")
	if _, err := scenariosNamed(c.Scenario); err != nil {
		wrong = append(wrong, err)
	}
	wrong.add(c.Runs < 1, "runs: %d is not positive", c.Runs)
	wrong.add(c.For <= 0, "for: %v is not positive", c.For)
	wrong.add(c.Settle <= 0, "settle: %v is not positive", c.Settle)
	wrong.add(c.Writers < 1 || c.Users < 1, "writers, users: at least one of each")
	wrong.add(c.Batch < 1 || c.Batch > rankcore.MaxOps, "batch: %d is not within 1..%d", c.Batch, rankcore.MaxOps)
	return errors.Join(wrong...)
}

// Chaos runs the scenarios one after another. It returns an error when that could not be carried out; what
// rankgate did wrong is in the report. The servers' files of a run that went wrong are kept, and Out told where.
func Chaos(ctx context.Context, cfg ChaosConfig) (*ChaosReport, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	chosen, err := scenariosNamed(cfg.Scenario)
	if err != nil {
		return nil, err
	}
	report := &ChaosReport{}
	for run := range cfg.Runs {
		for _, sc := range chosen {
			r, err := try(ctx, cfg, sc, cfg.Seed+uint64(run))
			if err != nil {
				return nil, fmt.Errorf("scenario %s, seed %d: %w", sc.Name, cfg.Seed+uint64(run), err)
			}
			report.Runs = append(report.Runs, *r)
			if err := r.WriteText(cfg.Out); err != nil {
				return nil, err
			}
		}
	}
	return report, nil
}

// try is one run of a scenario.
func try(ctx context.Context, cfg ChaosConfig, sc Scenario, seed uint64) (report *TrialReport, err error) {
	err = withHost(cfg.Out, func(host *hosted) error {
		t, err := newTrial(cfg, sc, seed, host)
		if err != nil {
			return err
		}
		report = t.report
		err = t.run(ctx)
		host.failed = !report.Right()
		return err
	})
	return report, err
}
