package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// Store is the shards of any number of boards on one Redis or Redis Cluster. Safe for concurrent use.
type Store struct {
	reads       redis.UniversalClient // short timeouts, for readers
	steps       redis.UniversalClient // long timeouts, for the applier and for loading segments
	quotas      redis.UniversalClient // for quotas
	readTimeout time.Duration
	stepTimeout time.Duration
	address     string // of the one node where there is no cluster
	sentry      Sentry
	log         *slog.Logger
	metrics     *metrics
	counter     Counter

	suspects   suspects
	trips      *trips
	floors     floors
	estimates  estimates
	lastRows   lastRows
	lastCounts lastCounts
	loads      sync.WaitGroup // loadings of aggregates, which outlive the readers that began them

	// mu guards said. Never held while calling anything.
	mu   sync.Mutex
	said map[shardID]string // what was last logged as wrong with a shard
}

type shardID struct {
	board rankcore.BoardID
	shard int
}

// New returns the store at c.URL, or says what is wrong with the configuration. It does not connect: a Redis
// that is down now may be up when it is asked.
func New(c Config) (*Store, error) {
	a, err := parseAddress(c.URL)
	if err != nil {
		return nil, err
	}
	s := &Store{
		readTimeout: c.ReadTimeout, stepTimeout: c.StepTimeout, log: c.Log, metrics: newMetrics(c.Registerer), counter: c.Counter,
		address: a.hosts[0], sentry: c.Sentry, suspects: suspects{until: map[shardID]time.Time{}},
		floors:    floors{seen: map[shardID]rankcore.Position{}},
		estimates: estimates{kept: map[seasonKey]*flight{}}, said: map[shardID]string{},
		lastRows: lastRows{seasons: map[seasonKey]*seasonRows{}}, lastCounts: lastCounts{kept: map[seasonKey]*usedCounts{}},
	}
	if s.readTimeout == 0 {
		s.readTimeout = defaultReadTimeout
	}
	if s.stepTimeout == 0 {
		s.stepTimeout = defaultStepTimeout
	}
	if s.counter == nil {
		s.counter = noCounter{}
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.sentry == nil {
		s.sentry = unguarded{}
	}
	s.trips = newTrips(s.send, s.readTimeout)
	conns := &idlers{}
	s.reads = a.dial(conns, s.readTimeout, s.readTimeout/4, readPool, readPipes)
	s.steps = a.dial(conns, s.stepTimeout, s.stepTimeout, stepPool, stepPipes)
	s.quotas = a.dial(conns, quotaTimeout(s.readTimeout), quotaTimeout(s.readTimeout), quotaPool, quotaPipes)
	return s, nil
}

// Close ends the connections. Calls under way fail, and no new ones may be made.
func (s *Store) Close() error {
	err := errors.Join(s.reads.Close(), s.steps.Close(), s.quotas.Close())
	s.loads.Wait()
	return err
}

// sayDamaged logs what is wrong with a shard once, until it is something else.
func (s *Store) sayDamaged(ctx context.Context, b *rankcore.Board, shard int, why string) {
	id := shardID{b.ID, shard}
	s.mu.Lock()
	known := s.said[id] == why
	s.said[id] = why
	s.mu.Unlock()
	if !known {
		s.log.WarnContext(ctx, "shard is not whole", "board", b.ID, "shard", shard, "why", why)
	}
}

// sayWhole forgets what was wrong with a shard, so that it is logged when it happens again.
func (s *Store) sayWhole(b *rankcore.Board, shard int) {
	s.mu.Lock()
	delete(s.said, shardID{b.ID, shard})
	s.mu.Unlock()
}

func errShape(reply any) error {
	return fmt.Errorf("a script answered %T in a shape that is not its own", reply)
}
