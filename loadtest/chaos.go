package loadtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// Chaos runs the scenario. It returns an error when that could not be carried out; what rankgate did wrong is
// in the report.
func Chaos(ctx context.Context, cfg ChaosConfig) (report *ChaosReport, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	err = withHost(cfg.Out, func(host servers.Host) error {
		store := "embedded"
		if cfg.Store == "redis" {
			// Its writes reach the page cache before they are answered; only rankgate is killed here.
			store = servers.Redis(host, servers.With("maxmemory-policy", "noeviction")).URL
		}
		s, err := newScenario(cfg, StartGate(host, cfg.Binary, store))
		if err != nil {
			return err
		}
		defer s.client.Close()
		report, err = s.run(ctx)
		return err
	})
	return report, err
}

// scenario is one run of Chaos: writers and watchers for each board of one gate.
type scenario struct {
	cfg      ChaosConfig
	gate     *Gate
	client   *Client
	writers  []*Writers
	watchers []*Watchers
}

const (
	watchersPerBoard = 2
	watchEvery       = 5 * time.Millisecond
)

func newScenario(cfg ChaosConfig, gate *Gate) (*scenario, error) {
	client, err := NewClient(ClientConfig{
		URL: gate.URL, Connections: len(gate.Boards) * (cfg.Writers + watchersPerBoard), Timeout: 5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	s := &scenario{cfg: cfg, gate: gate, client: client}
	for i, b := range gate.Boards {
		ledger := NewLedger()
		s.writers = append(s.writers, &Writers{
			Workload: Workload{Board: b, Seed: cfg.Seed + uint64(i), Users: cfg.Users},
			Sender:   client, Oracle: NewOracle(b), Ledger: ledger, Count: cfg.Writers, Batch: cfg.Batch, Grace: cfg.Settle,
		})
		s.watchers = append(s.watchers, &Watchers{
			Board: b, Reader: client, Ledger: ledger, Probes: cfg.Writers, Count: watchersPerBoard, Every: watchEvery, Seed: cfg.Seed,
		})
	}
	return s, nil
}

func (s *scenario) run(ctx context.Context) (*ChaosReport, error) {
	writing, stopWriting := context.WithCancel(ctx)
	watching, stopWatching := context.WithCancel(ctx)
	var writers, watchers sync.WaitGroup
	defer watchers.Wait() // also when the gate does not come back and hurt gives up
	defer writers.Wait()
	defer stopWatching()
	defer stopWriting()
	errs := make(chan error, len(s.writers))
	for i, w := range s.writers {
		writers.Go(func() { errs <- w.Run(writing) })
		watchers.Go(func() { s.watchers[i].Run(watching) })
	}
	s.hurt(ctx)
	stopWriting()
	writers.Wait()
	stopWatching()
	watchers.Wait()
	for range s.writers {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return s.judge(ctx), ctx.Err()
}

// hurt kills and restarts the gate on its timeline. It ends with ctx, and always with a gate that runs.
func (s *scenario) hurt(ctx context.Context) {
	rng := rand.New(rand.NewPCG(s.cfg.Seed, 0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for i := range s.cfg.Kills {
		// One kill in each equal part of the time, anywhere within it.
		at := (float64(i) + rng.Float64()) / float64(s.cfg.Kills)
		if !sleepUntil(ctx, timer, start.Add(time.Duration(at*float64(s.cfg.For)))) {
			return
		}
		s.gate.Kill()
		down := time.Now()
		s.gate.Relaunch()
		for _, w := range s.watchers {
			w.Restarted()
		}
		s.gate.AwaitReady()
		fmt.Fprintf(s.cfg.Out, "%s kill %d, ready again %d ms later\n",
			down.Format("15:04:05.000"), i+1, time.Since(down).Milliseconds())
	}
	sleepUntil(ctx, timer, start.Add(s.cfg.For))
}

// judge waits for the boards to show the truth and says what they show instead.
func (s *scenario) judge(ctx context.Context) *ChaosReport {
	r := &ChaosReport{Store: s.cfg.Store, Seed: s.cfg.Seed, Kills: s.cfg.Kills, Violations: []string{}, Different: []string{}}
	settling, cancel := context.WithTimeout(ctx, s.cfg.Settle)
	defer cancel()
	start := time.Now()
	for i, w := range s.writers {
		c := Comparison{Board: w.Workload.Board, Oracle: w.Oracle, Reader: s.client, Precision: rankcore.Exact}
		for _, d := range c.Settle(settling) {
			r.Different = append(r.Different, fmt.Sprintf("%s, %v", c.Board.ID, d))
		}
		answers, unanswered, violations := s.watchers[i].Seen()
		for _, v := range violations {
			r.Violations = append(r.Violations, fmt.Sprintf("%s: %s", c.Board.ID, v))
		}
		r.Acked, r.Retries = r.Acked+w.Acked(), r.Retries+w.Retries()
		r.Answers, r.Unanswered = r.Answers+answers, r.Unanswered+unanswered
	}
	r.Settled = time.Since(start).Seconds()
	return r
}
