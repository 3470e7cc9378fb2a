package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"rankgate/loadtest/servers"
)

const (
	kills        = 12
	killBoard    = "boards: { power: { update: add } }"
	killDistance = 1000 // batches at most between kills
)

// killing runs the ledger while victims are killed at random moments, one after another, and started again.
func killing(t *testing.T, c *child, victims ...*servers.Process) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var l ledger
	l.run(t, []api{c.api}, seed, func() {
		for n := range kills {
			l.await(t, l.acked.Load()+1+random.Int64N(killDistance))
			victim := victims[n%len(victims)]
			victim.Kill()
			victim.Restart()
		}
		l.await(t, l.acked.Load()+1)
	})
	l.compare(t, c.api)
	c.Restart() // SIGTERM this time
	l.compare(t, c.api)
	t.Logf("%d batches acknowledged, %d of them after another try", l.acked.Load(), l.retried.Load())
	if l.retried.Load() == 0 {
		t.Error("no write was disturbed")
	}
	c.Stop()
	if code := c.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

func TestKilledEmbeddedLosesAndDoublesNothing(t *testing.T) {
	c := startChild(t, killBoard)
	killing(t, c, c.Process)
}

func TestKilledOnServersLosesAndDoublesNothing(t *testing.T) {
	redis := servers.Redis(t, servers.With("appendonly", "yes"))
	nats := servers.NATS(t)
	c := startChild(t, fmt.Sprintf("%s\nlog: { url: %q }\nstore: { url: %q }", killBoard, nats.URL, redis.URL))
	killing(t, c, c.Process, redis.Process, c.Process, nats.Process)
}
