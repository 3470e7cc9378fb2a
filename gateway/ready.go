package gateway

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
)

// State is how a dependency is.
type State string

// The states of a dependency.
const (
	OK       State = "ok"
	Degraded State = "degraded"
	Down     State = "down"
)

// Health is what /readyz shows. Ready says whether an answer can be given at all, a last known one included:
// a dependency that is down does not take every gateway out of service.
type Health struct {
	Ready        bool
	Dependencies map[string]Dependency // by name: "log", "store", "applier", ...
}

// Dependency is one thing that answers depend on.
type Dependency struct {
	State      State  `json:"status"`
	Detail     string `json:"detail,omitempty"`     // for the one on call; no secrets
	Durability string `json:"durability,omitempty"` // of the log: "fsync" or "os"
}

const healthWithin = time.Second

// livez answers GET /livez: the process is there. It never looks outside.
func (g *Gateway) livez(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	return sendJSON(c, struct {
		Status State `json:"status"`
	}{OK})
}

// readyz answers GET /readyz, with 503 when no answer can be given or the gateway is stopping.
func (g *Gateway) readyz(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), healthWithin)
	defer cancel()
	health := g.cfg.Health(ctx)
	stopping := g.stopping.Load()

	answer := struct {
		Ready        bool                  `json:"ready"`
		Status       State                 `json:"status"`
		Stopping     bool                  `json:"stopping,omitempty"`
		Dependencies map[string]Dependency `json:"dependencies"`
	}{health.Ready && !stopping, OK, stopping, health.Dependencies}
	for _, d := range health.Dependencies {
		if d.State != OK {
			answer.Status = Degraded
		}
	}
	if !answer.Ready {
		answer.Status = Down
		c.Status(fiber.StatusServiceUnavailable).Set(fiber.HeaderRetryAfter, retryAfter)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return sendJSON(c, answer)
}
