package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/config"
)

func newServe(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve boards: the public face and the core, in one process or in several",
		Long: `serve answers reads and takes writes over HTTP, and applies what the log holds.

With no configuration everything is embedded: log and scores are kept under ./data, there is one board "demo",
and only this machine can connect. On another address writes need a service key; without one configured, serve
makes it, prints it once and keeps it in the data folder.

An external NATS does not tell its clients whether it syncs what it confirms. Name the monitoring endpoints of its
servers in log.monitors; without any, port 8222 of the connected one is asked. Unless all of them say that they
do, /readyz calls the log's durability "os".`,
		Example: `  rankgate serve
  rankgate serve --config rankgate.yaml --listen 0.0.0.0:8080
  RANKGATE_LOG__URL=nats://nats:4222 RANKGATE_STORE__URL=redis://redis:6379/0 rankgate serve --role gateway`,
		Args: cobra.NoArgs,
	}
	s := configFlags(cmd, "listen", "data", "role")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		limitMemory()
		return serve(cmd.Context(), cfg, io, nil)
	}
	return cmd
}

// serve serves until ctx ends. Everything is stopped and closed when it returns. ready, where given, is told
// the public URL once connections are taken.
func serve(ctx context.Context, cfg *config.Config, io streams, ready func(url string)) error {
	signal.Ignore(syscall.SIGPIPE) // whoever reads the output may leave; that must not end the process halfway
	if cfg.Log.URL == config.Embedded || cfg.StoreURL == config.Embedded {
		unlock, err := lockData(cfg.Data)
		if err != nil {
			return err
		}
		defer unlock()
	}
	at, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer at.close()
	auth, key, err := serviceAuth(cfg)
	if err != nil {
		return err
	}
	log := newLogger(io)
	e, err := wire(cfg, auth, at, log)
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.store.refuse(ctx); err != nil {
		return err
	}
	url := publicURL(cfg.Listen, at.public)
	fmt.Fprintln(io.out, startLine(cfg, url))
	if key != "" {
		fmt.Fprintf(io.out, "Writes need this service key, shown once and kept in %s/service.key: %s\n", cfg.Data, key)
	}
	if ready != nil {
		ready(url)
	}
	return runParts(ctx, e.parts, log)
}

// publicURL is where a client on this machine reaches ln, which was asked to listen on addr.
func publicURL(addr string, ln net.Listener) string {
	host, _, _ := net.SplitHostPort(addr)
	_, port, _ := net.SplitHostPort(ln.Addr().String()) // a free one may have been asked for
	return localURL(net.JoinHostPort(host, port))
}

// startLine tells a human where to look.
func startLine(cfg *config.Config, url string) string {
	where := fmt.Sprintf("(role %s, log %s, store %s, data %s)", cfg.Role, config.MaskURL(cfg.Log.URL), config.MaskURL(cfg.StoreURL), cfg.Data)
	if cfg.Role == config.RoleCore {
		return fmt.Sprintf("rankgate applies boards %s; see %s/readyz %s", strings.Join(cfg.BoardNames(), ", "), url, where)
	}
	return fmt.Sprintf("rankgate serves boards %s at %s/ %s", strings.Join(cfg.BoardNames(), ", "), url, where)
}

func listen(ctx context.Context, cfg *config.Config) (at sockets, err error) {
	if at.public, err = listenOn(ctx, cfg.Listen, "listen"); err != nil {
		return sockets{}, err
	}
	if cfg.OpsListen != "" {
		if at.ops, err = listenOn(ctx, cfg.OpsListen, "ops_listen"); err != nil {
			at.close()
			return sockets{}, err
		}
	}
	return at, nil
}

func listenOn(ctx context.Context, addr, key string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s %s is in use by another program: stop it, or choose another address with %s", key, addr, key)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return ln, nil
}

func (s sockets) close() {
	s.public.Close()
	if s.ops != nil {
		s.ops.Close()
	}
}

// newLogger writes for a person on a terminal and for a machine elsewhere.
func newLogger(io streams) *slog.Logger {
	if isTerminal(io.err) {
		return slog.New(slog.NewTextHandler(io.err, nil))
	}
	return slog.New(slog.NewJSONHandler(io.err, nil))
}

// limitMemory keeps the heap below a container's limit, where there is one, before the kernel has to.
func limitMemory() {
	const share = 0.9
	// An error says that there is no limit to keep below.
	_, _ = memlimit.Set(memlimit.WithRatio(share), memlimit.WithProvider(memlimit.FromCgroup))
}
