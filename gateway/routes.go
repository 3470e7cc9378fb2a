package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
)

// routes is the table of everything there is. Fiber answers HEAD by the handlers of GET, and looks from the top down:
// first stands what is asked for most.
func (g *Gateway) routes() {
	g.get("/livez", g.livez)
	g.get("/readyz", g.readyz)
	if g.cfg.Ops {
		g.get("/metrics", metricsPage(g.cfg.Gatherer))
	}
	if g.cfg.Profiles {
		g.profiles()
	}
	if g.cfg.Reader == nil {
		return
	}
	g.get("/v1/boards/:board/top", g.top)
	g.get("/v1/boards/:board/users/:user/rank", g.rank)
	g.get("/v1/boards/:board/users/:user/around", g.around)
	g.get("/v1/boards/:board/stream", g.streamTop)
	g.get("/v1/boards/:board/entries", g.entries)
	g.get("/v1/boards/:board", g.describeBoard)
	g.get("/v1/boards", g.listBoards)
	g.add(fiber.MethodPost, "/v1/boards/:board/ranks", g.ranks)
	g.add(fiber.MethodPost, "/v1/boards/:board/scores", g.postScores)
	g.add(fiber.MethodDelete, "/v1/boards/:board/users/:user", g.removeUser)
	g.add(fiber.MethodPut, "/v1/boards/:board/hidden/:user", g.hideUser)
	g.add(fiber.MethodDelete, "/v1/boards/:board/hidden/:user", g.showUser)
	g.add(fiber.MethodPost, "/v1/boards/:board/verify", g.verify)

	for _, f := range pageFiles {
		g.get(f.path, f.serve)
	}
	g.docs()
}

func (g *Gateway) get(path string, h fiber.Handler) { g.app.Get(path, g.routed(path, h)) }

func (g *Gateway) add(method, path string, h fiber.Handler) {
	g.app.Add(method, path, g.routed(method+" "+path, h))
}

// routed measures a handler under its route's name, and turns its error into the answer.
func (g *Gateway) routed(name string, h fiber.Handler) fiber.Handler {
	route := g.metrics.route(name)
	return func(c *fiber.Ctx) error {
		if err := g.recovered(c, h); err != nil {
			level := slog.LevelDebug // also for 503: an outage would fill the log, and the layer behind tells it once
			status := writeProblem(c.Context(), err)
			if status == fiber.StatusInternalServerError {
				level = slog.LevelError
			}
			g.log.Log(context.Background(), level, "a request was refused", "route", name, "status", status, "cause", err)
		}
		route.took(c.Response().StatusCode(), time.Since(c.Context().Time()))
		return nil
	}
}

// recovered runs h; fasthttp would let a panic end the process.
func (g *Gateway) recovered(c *fiber.Ctx, h fiber.Handler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			g.log.Error("a handler panicked", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return h(c)
}
