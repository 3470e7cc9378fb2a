package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"rankgate/rankcore"
)

// LoadConfig is the load of one run. Rates are a second, over the whole run.
type LoadConfig struct {
	Client   ClientConfig
	Board    *rankcore.Board // only its ID and Scale are used
	For      time.Duration
	Reads    float64 // read requests, top and rank together
	TopShare float64 // of the reads, this part asks for the top; the rest for ranks
	TopLimit int     // rows of each top
	Ops      float64 // operations written, in batches
	Batch    int     // operations in one write
	Kind     rankcore.OpKind
	Wait     bool // writes wait until they are applied
	Users    int
	Shape    Shape
	Seed     uint64
	Watch    []string // URLs of gateways: on each, single writes are looked for; see VisibleReport
}

// Validate reports everything that is wrong with the load.
func (c *LoadConfig) Validate() error {
	var wrong mistakes
	wrong.add(c.For <= 0, "for: %v is not positive", c.For)
	wrong.add(c.Reads < 0 || c.Ops < 0 || c.Reads+c.Ops == 0, "reads, writes: give at least one positive rate")
	wrong.add(c.TopShare < 0 || c.TopShare > 1, "top-share: %v is not within 0..1", c.TopShare)
	wrong.add(c.TopLimit < 1, "top-limit: %d is not positive", c.TopLimit)
	wrong.add(c.Batch < 1 || c.Batch > rankcore.MaxOps, "batch: %d is not within 1..%d", c.Batch, rankcore.MaxOps)
	wrong.add(!c.Kind.HasValue(), "op: %v carries no score", c.Kind)
	wrong.add(c.Users < 1, "users: %d is not positive", c.Users)
	wrong.add(c.Shape != Uniform && c.Shape != Zipf, "shape: %q is not one of uniform, zipf", c.Shape)
	return errors.Join(wrong...)
}

// Run puts the load on a running rankgate and reports. When ctx ends early it reports what there is. It fails
// only on a bad configuration or target: a server that does not answer is a finding.
func Run(ctx context.Context, cfg LoadConfig) (*Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	started := time.Now()
	streams, err := cfg.streams(started)
	if err != nil {
		return nil, err
	}
	seen, err := cfg.visible()
	if err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	for _, s := range streams {
		running.Go(func() { s.run(ctx) })
	}
	running.Go(func() { seen.run(ctx, cfg.For) })
	running.Wait()
	report := &Report{URL: cfg.Client.URL, Board: string(cfg.Board.ID), Started: started}
	for _, s := range streams {
		s.client.Close()
		k := s.tally.report(s.kind, s.pace)
		if s.kind == "write" {
			k.OpsRate = k.AchievedRate * float64(cfg.Batch)
		}
		report.Kinds = append(report.Kinds, k)
	}
	report.Visible = seen.reports()
	report.Seconds = time.Since(started).Seconds()
	return report, nil
}

// streams are the kinds of request that the load has, each with its own timetable and connections, so that
// slow writes do not hold up reads.
func (c *LoadConfig) streams(start time.Time) ([]*stream, error) {
	var streams []*stream
	for _, k := range []struct {
		kind string
		rate float64
		make func(p *population, serial int64) (method, path string, body []byte)
	}{
		{"top", c.Reads * c.TopShare, c.topRequest},
		{"rank", c.Reads * (1 - c.TopShare), c.rankRequest},
		{"write", c.Ops / float64(c.Batch), c.writeRequest},
	} {
		if k.rate == 0 {
			continue
		}
		client, err := NewClient(c.Client)
		if err != nil {
			return nil, err
		}
		s := &stream{kind: k.kind, client: client, tally: newTally(), request: k.make}
		s.pace = &pace{start: start, rate: k.rate, length: c.For, workers: orDefault(c.Client.Connections, 64)}
		for w := range s.pace.workers {
			rng := rand.New(rand.NewPCG(c.Seed, uint64(w)))
			s.users = append(s.users, newPopulation(rng, c.Users, c.Shape))
		}
		streams = append(streams, s)
	}
	return streams, nil
}

func (c *LoadConfig) topRequest(*population, int64) (string, string, []byte) {
	return "GET", fmt.Sprintf("/v1/boards/%s/top?limit=%d", c.Board.ID, c.TopLimit), nil
}

func (c *LoadConfig) rankRequest(p *population, _ int64) (string, string, []byte) {
	return "GET", fmt.Sprintf("/v1/boards/%s/users/%s/rank", c.Board.ID, url.PathEscape(string(p.pick()))), nil
}

// writeRequest changes scores for sure nearly always: repeating a score would measure a write that changes nothing.
func (c *LoadConfig) writeRequest(p *population, serial int64) (string, string, []byte) {
	ops := make([]rankcore.Op, c.Batch)
	for i := range ops {
		ops[i] = rankcore.Op{
			ID:   fmt.Sprintf("%x-%x-%x", p.rng.Uint64(), serial, i),
			User: p.pick(), Kind: c.Kind, Value: rankcore.Score(1 + p.rng.Int64N(1_000_000)),
		}
	}
	path := "/v1/boards/" + string(c.Board.ID) + "/scores"
	if c.Wait {
		path += "?wait=applied"
	}
	return "POST", path, appendBody(nil, c.Board, ops)
}

// stream is the requests of one kind.
type stream struct {
	kind    string
	client  *Client
	pace    *pace
	tally   *tally
	users   []*population // one for each worker
	request func(p *population, serial int64) (method, path string, body []byte)
}

func (s *stream) run(ctx context.Context) {
	s.pace.run(ctx, func(worker int, intended time.Time) {
		method, path, body := s.request(s.users[worker], intended.UnixNano())
		a, err := s.client.call(ctx, method, path, body)
		if ctx.Err() != nil && err != nil {
			return // never sent
		}
		s.tally.answered(intended, time.Now(), a, err)
	})
}
