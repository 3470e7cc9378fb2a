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

// trial is one run of a scenario: writers and watchers for each board of a rig, and what hurts it.
type trial struct {
	cfg      ChaosConfig
	scenario Scenario
	seed     uint64
	rng      *rand.Rand // of the faults
	rig      *rig
	client   *Client
	writers  []*Writers
	watchers []*Watchers
	still    *stillWatch // nil: the rig has no still board
	before   []footprint // of the gates, before the faults
	report   *TrialReport
	paused   bool
	forget   bool // ids from before the pause are not sent again
}

const (
	watchersPerBoard = 2
	watchEvery       = 5 * time.Millisecond
)

func newTrial(cfg ChaosConfig, sc Scenario, seed uint64, host servers.Host) (*trial, error) {
	t := &trial{
		cfg: cfg, scenario: sc, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), rig: sc.layout.build(host, cfg.Binary, seed),
		report: &TrialReport{Scenario: sc.Name, Seed: seed, Faults: map[string]int{}, Violations: []string{}, Different: []string{}},
	}
	face := t.rig.gates[0]
	var err error
	t.client, err = NewClient(ClientConfig{
		URL: face.URL, Connections: len(face.Boards)*(cfg.Writers+watchersPerBoard) + stillReaders + 1, Timeout: 5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	for i, b := range face.Boards {
		ledger := NewLedger()
		t.writers = append(t.writers, &Writers{
			Workload: Workload{Board: b, Seed: seed + uint64(i), Users: cfg.Users},
			Sender:   t.client, Oracle: NewOracle(b), Ledger: ledger, Count: cfg.Writers, Batch: cfg.Batch, Grace: cfg.Settle,
			Rests: face.Still != nil, // how soon readers have their answers again is measured, and not of a machine that writes with all it has
		})
		t.watchers = append(t.watchers, &Watchers{
			Board: b, Reader: t.client, Ledger: ledger, Probes: cfg.Writers, Count: watchersPerBoard, Every: watchEvery, Seed: seed,
		})
	}
	if face.Still != nil {
		t.still, t.report.Still = newStillWatch(face.Still, t.client, seed), &StillReport{Recovery: map[string]float64{}}
	}
	return t, nil
}

// run writes, watches and hurts, and then judges.
func (t *trial) run(ctx context.Context) error {
	defer t.client.Close()
	if err := t.beginStill(ctx); err != nil {
		return err
	}
	writing, stopWriting := context.WithCancel(ctx)
	watching, stopWatching := context.WithCancel(ctx)
	var writers, watchers sync.WaitGroup
	defer watchers.Wait() // also when the rig does not come back and hurt gives up
	defer writers.Wait()
	defer stopWatching()
	defer stopWriting()
	defer t.resume()
	errs := make(chan error, len(t.writers))
	for i, w := range t.writers {
		writers.Go(func() { errs <- w.Run(writing) })
		watchers.Go(func() { t.watchers[i].Run(watching) })
	}
	if t.still != nil {
		watchers.Go(func() { t.still.run(watching) })
	}
	if t.scenario.noisy {
		watchers.Go(func() { flushScripts(watching, t.rig.redises()) })
		for _, p := range t.rig.proxies() {
			p.Lose(0.002)
		}
	}
	t.hurt(ctx)
	for _, p := range t.rig.proxies() {
		p.Lose(0)
	}
	stopWriting()
	writers.Wait()
	stopWatching()
	watchers.Wait()
	for range t.writers {
		if err := <-errs; err != nil {
			return err
		}
	}
	t.endStill()
	t.judge(ctx)
	return ctx.Err()
}

// hurt strikes with one fault after another until the time is over, and with each of them at least once. The
// seed chooses their order and the pauses. It ends early with ctx, and always with a rig that is whole.
func (t *trial) hurt(ctx context.Context) {
	end := time.Now().Add(t.cfg.For)
	for round := 0; ; round++ {
		for _, i := range t.rng.Perm(len(t.scenario.faults)) {
			t.wait(ctx, t.hold())
			if ctx.Err() != nil || round > 0 && time.Now().After(end) {
				return
			}
			f := t.scenario.faults[i]
			t.say("%s", f.name)
			f.strike(ctx, t)
			t.heal(ctx, f.name)
			if t.scenario.noisy {
				for _, p := range t.rig.proxies() {
					p.Lose(0.002)
				}
			}
			t.report.Faults[f.name]++
		}
	}
}

// hold is a time that a fault lasts, or between two.
func (t *trial) hold() time.Duration {
	return 200*time.Millisecond + time.Duration(t.rng.Int64N(int64(1300*time.Millisecond)))
}

// wait waits for d or the end of ctx.
func (t *trial) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	sleepUntil(ctx, timer, time.Now().Add(d))
}

// must ends the trial when the harness itself cannot go on.
func (t *trial) must(err error) {
	if err != nil {
		t.rig.host.Fatalf("%v", err)
	}
}

func (t *trial) say(format string, args ...any) {
	fmt.Fprintf(t.cfg.Out, "%s %s: %s\n", time.Now().Format("15:04:05.000"), t.scenario.Name, fmt.Sprintf(format, args...))
}

// pause returns when everything under way is acknowledged, and keeps all writers from going on.
func (t *trial) pause() {
	for _, w := range t.writers {
		w.Pause()
	}
	t.paused = true
}

// resume lets writers go on, if they are paused.
func (t *trial) resume() {
	if !t.paused {
		return
	}
	for _, w := range t.writers {
		w.Resume(t.forget)
	}
	t.paused, t.forget = false, false
}

// compare waits until the boards show what their oracles say, as precisely as asked, and tells what differs.
func (t *trial) compare(ctx context.Context, precision rankcore.Precision) (different []string) {
	settling, cancel := context.WithTimeout(ctx, t.cfg.Settle)
	defer cancel()
	for _, w := range t.writers {
		c := Comparison{Board: w.Workload.Board, Oracle: w.Oracle, Reader: t.client, Precision: precision}
		for _, d := range c.Settle(settling) {
			different = append(different, fmt.Sprintf("%s, %v", c.Board.ID, d))
		}
	}
	return different
}

// judge waits for the boards to show the truth, in ranks and in estimates, and says what they show instead.
func (t *trial) judge(ctx context.Context) {
	r := t.report
	start := time.Now()
	r.Different = append(r.Different, t.compare(ctx, rankcore.Exact)...)
	r.Settled = time.Since(start).Seconds()
	if len(r.Different) == 0 {
		r.Different = append(r.Different, t.compare(ctx, rankcore.Approx)...)
		r.Different = append(r.Different, t.rig.segments()...)
	}
	for i, w := range t.writers {
		answers, unanswered, violations := t.watchers[i].Seen()
		for _, v := range violations {
			r.Violations = append(r.Violations, fmt.Sprintf("%s: %s", w.Workload.Board.ID, v))
		}
		r.Acked, r.Retries = r.Acked+w.Acked(), r.Retries+w.Retries()
		r.Answers, r.Unanswered = r.Answers+answers, r.Unanswered+unanswered
	}
}
