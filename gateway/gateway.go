package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// Config says what a Gateway serves and whom it asks.
type Config struct {
	Boards   []*rankcore.Board
	Reader   rankcore.Reader // nil: only the operations routes are served, and Boards to Floor are not used
	Writer   Writer
	Applied  Waiter
	Outcomes Outcomes
	Verifier Verifier
	Floor    Floor // optional

	Health   func(ctx context.Context) Health // must return within ctx's deadline
	Gatherer prometheus.Gatherer              // what /metrics shows
	Ops      bool                             // serve /metrics here
	Profiles bool                             // serve /debug/pprof here

	Auth       Auth
	Limits     Limits
	Origins    []string              // whose pages may ask: AnyOrigin alone, or such as "https://example.com"
	Quota      *Quota                // nil: exact ranks are not rationed
	Drain      time.Duration         // how long /readyz says no before the listener closes; at least 0
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: metrics are not registered
}

func (c *Config) validate() error {
	var errs []error
	missing := func(is bool, what string) {
		if is {
			errs = append(errs, errors.New("gateway: missing "+what))
		}
	}
	missing(c.Health == nil, "Health")
	missing(c.Ops && c.Gatherer == nil, "Gatherer")
	if c.Reader != nil {
		missing(len(c.Boards) == 0, "Boards")
		missing(c.Writer == nil, "Writer")
		missing(c.Applied == nil, "Applied")
		missing(c.Outcomes == nil, "Outcomes")
		missing(c.Verifier == nil, "Verifier")
	}
	missing(c.Quota != nil && (c.Quota.PerDay < 0 || c.Quota.PerDay > 0 && c.Quota.Store == nil), "Quota.Store, or a PerDay of at least 0")
	errs = append(errs, c.Auth.Users.validate())
	return errors.Join(errs...)
}

// Gateway serves the HTTP API. Safe for concurrent use.
type Gateway struct {
	cfg     Config
	log     *slog.Logger
	app     *fiber.App
	keys    serviceKeys
	cors    origins
	limits  *limiter
	metrics *metrics
	buffers sync.Pool // of *encoder

	calendars map[rankcore.BoardID]*calendar
	deadlines deadlines

	quotaRest rest

	verifying atomic.Bool // a board is being verified
	stopping  atomic.Bool
	waits     context.Context // ends when the gateway stops: nobody waits for the applier or listens any longer
	endWaits  context.CancelFunc

	hub     *hub
	streams streamCount
}

// New returns a gateway that serves nothing before Run. It fails on an incomplete Config.
func New(cfg Config) (*Gateway, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	keys, err := newServiceKeys(cfg.Auth.Service)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		cfg:     cfg,
		log:     cfg.Logger,
		keys:    keys,
		cors:    cfg.Origins,
		metrics: newMetrics(cfg.Registerer),
		buffers: sync.Pool{New: func() any { return new(encoder) }},

		calendars: make(map[rankcore.BoardID]*calendar, len(cfg.Boards)),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for _, b := range cfg.Boards {
		g.calendars[b.ID] = newCalendar(b)
	}
	g.waits, g.endWaits = context.WithCancel(context.Background())
	g.hub = newHub(g)
	g.limits = newLimiter(g)
	g.streams = streamCount{metrics: g.metrics, each: g.limits.streams}
	g.app = newApp(g)
	g.routes()
	return g, nil
}

// App is the Fiber application, for tests in this process. It must not be changed.
func (g *Gateway) App() *fiber.App { return g.app }

// stopWithin bounds a stop after Drain: the longest append, and room to write its answer.
const stopWithin = appendTimeout + 2*time.Second

// Run serves ln until ctx ends. Then /readyz says no, and after Config.Drain the listener closes, requests in
// flight are answered, streams and waits for the applier end early, and what is not done within 7 s is cut off. It
// returns nil after such a stop, and an error when serving itself failed. It closes ln and is called once.
func (g *Gateway) Run(ctx context.Context, ln net.Listener) error {
	defer g.hub.close()
	defer g.endWaits()
	conns := newListener(ln, g.limits)
	g.app.Handler() // builds Fiber's routing tree
	server := g.app.Server()
	served := make(chan error, 1)
	go func() { served <- server.Serve(conns) }()

	select {
	case err := <-served:
		return fmt.Errorf("serve %v: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	g.stopping.Store(true)
	pause(served, g.cfg.Drain)
	g.endWaits()
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := server.ShutdownWithContext(bound); err != nil {
		g.log.Warn("requests were cut off", "cause", err)
	}
	conns.closeAll()
	return <-served
}

// pause lasts for d, or until serving ends by itself.
func pause(served chan error, d time.Duration) {
	select {
	case err := <-served:
		served <- err
	case <-time.After(d):
	}
}
