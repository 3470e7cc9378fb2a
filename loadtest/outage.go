package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"rankgate/loadtest/servers"
	"rankgate/rankcore"
)

// OutageConfig says how to take Redis away from under a load that is too much already. Readers must get as many answers
// soon after as before, although the load goes on.
type OutageConfig struct {
	Binary  string        // the rankgate to start
	Users   int           // of the board; each reader asks for one at random
	Before  time.Duration // how long the load is on before the outage
	For     time.Duration // how long Redis is away
	Within  time.Duration // how soon after it readers must get their answers again
	Share   float64       // of the answers of before
	Factor  float64       // the load is so many times what rankgate can answer
	Readers int           // questions under way at most; further ones only wait here
	Delay   time.Duration // of each reply of Redis: so that it is what bounds the answers, and not this machine
	Seed    uint64
	Out     io.Writer // progress, and the logs of servers when something is wrong
}

// Validate reports everything that is wrong with the configuration.
func (c *OutageConfig) Validate() error {
	var wrong mistakes
	wrong.add(c.Binary == "", "binary: name the rankgate to start")
	wrong.add(c.Users < 1, "users: %d is not positive", c.Users)
	wrong.add(c.Before < 2*time.Second || c.For < time.Second || c.Within < time.Second, "before, for, within: two seconds, one and one at least")
	wrong.add(c.Share <= 0 || c.Share > 1, "share: %v is not within 0..1", c.Share)
	wrong.add(c.Factor <= 0, "factor: %v is not positive", c.Factor)
	wrong.add(c.Delay < 0, "delay: %v is negative", c.Delay)
	wrong.add(c.Readers < 1, "readers: %d is not positive", c.Readers)
	return errors.Join(wrong...)
}

// Outage takes Redis away twice, silent and dead, each time from a gateway that has nothing in memory. It returns an
// error when that could not be carried out; what rankgate did wrong is in the report.
func Outage(ctx context.Context, cfg OutageConfig) (report *OutageReport, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	report = &OutageReport{}
	err = withHost(cfg.Out, func(host *hosted) error {
		o := &outage{cfg: cfg, rig: crowded(host, &cfg)}
		defer func() { host.failed = !report.Right() }()
		if err := o.begin(ctx); err != nil {
			return err
		}
		for _, how := range []struct {
			name     string
			out, end func()
		}{
			{"silent", o.rig.redis.Freeze, o.rig.redis.Thaw},
			{"dead", o.rig.redis.Kill, o.rig.redis.Restart},
		} {
			run, err := o.run(ctx, how.out, how.end)
			if err != nil {
				return err
			}
			run.Redis = how.name
			report.Runs = append(report.Runs, run)
			if err := run.WriteText(cfg.Out); err != nil {
				return err
			}
		}
		return nil
	})
	return report, err
}

// crowded is a rig of a gateway, a core, NATS and Redis behind a proxy, with the crowd's board.
func crowded(host servers.Host, c *OutageConfig) *rig {
	r := &rig{host: host, redis: servers.Redis(host, redisOptions()...), nats: servers.NATS(host)}
	r.toRedis = NewProxy(host, r.redis.Addr, c.Seed)
	cfg := GateConfig{Binary: c.Binary, Log: r.nats.URL, Store: "redis://" + r.toRedis.Addr + "/0", Boards: []*rankcore.Board{crowdBoard()}}
	for _, role := range []string{"core", "gateway"} {
		cfg.Role = role
		r.gates = append([]*Gate{StartGate(host, cfg)}, r.gates...)
	}
	return r
}

// outage is a crowd before a rig.
type outage struct {
	cfg      OutageConfig
	rig      *rig
	crowd    *crowd
	capacity float64
}

const (
	fillWithin   = 5 * time.Minute
	measureFor   = 5 * time.Second
	measureUnder = 64 // questions under way, which keep everything busy
)

// begin fills the board and measures how many answers a second there are at most.
func (o *outage) begin(ctx context.Context) (err error) {
	if o.crowd, err = o.gather(); err != nil {
		return err
	}
	filling, cancel := context.WithTimeout(ctx, fillWithin)
	defer cancel()
	o.say("writes %d users", o.cfg.Users)
	if err := o.crowd.fill(filling); err != nil {
		return err
	}
	o.rig.toRedis.Delay(o.cfg.Delay)
	if o.capacity = o.crowd.most(ctx, measureUnder, measureFor, o.cfg.Seed); o.capacity < 1 {
		return errNothing
	}
	o.say("%.0f fresh answers a second at most", o.capacity)
	return ctx.Err()
}

// gather is a crowd that has seen nothing yet: a gateway that has just begun may show its last snapshot.
func (o *outage) gather() (*crowd, error) {
	face := o.rig.gates[0]
	client, err := NewClient(ClientConfig{URL: face.URL, Connections: o.cfg.Readers, Timeout: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	return newCrowd(face.Boards[0], client, o.cfg.Users), nil
}

// run takes Redis away once.
func (o *outage) run(ctx context.Context, out, end func()) (*OutageRun, error) {
	o.crowd.client.Close()
	gate := o.rig.gates[0]
	gate.Kill()
	gate.Relaunch()
	gate.AwaitReady()
	var err error
	if o.crowd, err = o.gather(); err != nil {
		return nil, err
	}
	defer func() { o.crowd.client.Close() }()
	run := &OutageRun{Capacity: o.capacity, Rate: o.cfg.Factor * o.capacity, Share: o.cfg.Share, Within: o.cfg.Within.Seconds()}
	loading, stop := context.WithCancel(ctx)
	defer stop()
	var load sync.WaitGroup
	defer load.Wait()
	load.Go(func() { run.LateStarts = o.crowd.load(loading, run.Rate, time.Hour, o.cfg.Readers, o.cfg.Seed) })
	begun := time.Now()
	o.wait(ctx, o.cfg.Before)
	o.say("takes Redis away")
	run.Away = time.Since(begun).Seconds()
	out()
	o.wait(ctx, o.cfg.For)
	end()
	run.Back = time.Since(begun).Seconds()
	o.say("Redis is back")
	for last := time.Now().Add(o.cfg.Within + (overSeconds+1)*time.Second); time.Now().Before(last) && ctx.Err() == nil; {
		o.wait(ctx, time.Second/4)
		// A second is over when the last of its answers may have come.
		if run.judge(o.crowd.counted(), int((time.Since(begun)-inTime)/time.Second)); run.Recovered != nil {
			break
		}
	}
	stop()
	load.Wait()
	run.Violations = o.crowd.violations
	return run, ctx.Err()
}

func (o *outage) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	sleepUntil(ctx, timer, time.Now().Add(d))
}

func (o *outage) say(format string, args ...any) {
	fmt.Fprintf(o.cfg.Out, "%s outage: %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}
