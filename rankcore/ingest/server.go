package ingest

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Durability says what an acknowledged append survives.
type Durability string

// The two durabilities.
const (
	FSync Durability = "fsync" // a loss of power: it was synced to disk first
	OS    Durability = "os"    // the end of the log's process: the operating system has it
)

// EmbeddedConfig describes the log server inside this process.
type EmbeddedConfig struct {
	Dir        string     // where the log is kept; created when missing
	Listen     string     // host:port for other NATS clients; empty: none but this process
	Durability Durability // empty: FSync
	MaxBytes   int64      // bytes the log's streams may reserve; 0: DefaultMaxBytes and what dead letters take
	Logger     *slog.Logger
}

// Server is a NATS server with JetStream inside this process. It handles no signals.
type Server struct {
	nats       *server.Server
	opts       *server.Options
	durability Durability
	log        *slog.Logger
	broken     *atomic.Bool // a file could not be written, so the streams take nothing any more
}

// startPatience is how long a server may take to recover its streams before it counts as failed.
const startPatience = time.Minute

// StartServer starts the server and returns when it takes connections. The caller ends it with Shutdown,
// after everything connected to it has ended.
func StartServer(cfg EmbeddedConfig) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("embedded log server: %w", err)
	}
	var broken atomic.Bool
	ns.SetLoggerV2(serverLogger{cfg.Logger, &broken}, false, false, false)
	ns.Start()
	if !ns.ReadyForConnections(startPatience) || !ns.JetStreamEnabled() {
		ns.Shutdown()
		ns.WaitForShutdown()
		return nil, fmt.Errorf("embedded log server did not start in %s; its log says why", cfg.Dir)
	}
	return &Server{nats: ns, opts: opts, durability: durabilityOf(opts), log: cfg.Logger, broken: &broken}, nil
}

func (cfg EmbeddedConfig) options() (*server.Options, error) {
	if cfg.Dir == "" {
		return nil, errors.New("embedded log server: no folder")
	}
	room := cfg.MaxBytes
	if room <= 0 {
		room = DefaultMaxBytes
	}
	opts := &server.Options{
		ServerName:        "rankgate-embedded",
		JetStream:         true,
		StoreDir:          cfg.Dir,
		SyncAlways:        cfg.Durability != OS,
		JetStreamMaxStore: room + deadMaxBytes + 1<<20,
		// A consumer's state is tens of kilobytes; the streams themselves are files.
		JetStreamMaxMemory: 64 << 20,
		MaxPayload:         4 << 20,
		NoSigs:             true,
		DontListen:         cfg.Listen == "",
	}
	if cfg.Listen != "" {
		host, port, err := net.SplitHostPort(cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("embedded log server: listen %q: %w", cfg.Listen, err)
		}
		opts.Host = host
		if opts.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("embedded log server: listen %q: %w", cfg.Listen, err)
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
	}
	return opts, nil
}

func durabilityOf(opts *server.Options) Durability {
	if opts.SyncAlways {
		return FSync
	}
	return OS
}

// Connect opens a connection that stays inside this process.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return connect("", append(opts, nats.InProcessServer(s.nats)))
}

// Durability is what an append acknowledged by this server survives.
func (s *Server) Durability() Durability { return s.durability }

// URL is where other clients connect, or empty without Listen.
func (s *Server) URL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// Shutdown ends the server and returns when its files are closed.
func (s *Server) Shutdown() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// serverLogger passes on what an operator must see and drops the banner.
type serverLogger struct {
	to     *slog.Logger
	broken *atomic.Bool
}

func (l serverLogger) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l serverLogger) Warnf(format string, v ...any)   { l.to.Warn(fmt.Sprintf(format, v...)) }
func (l serverLogger) Errorf(format string, v ...any)  { l.failed(fmt.Sprintf(format, v...)) }
func (l serverLogger) Fatalf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }
func (l serverLogger) Debugf(string, ...any)           {}
func (l serverLogger) Tracef(string, ...any)           {}
