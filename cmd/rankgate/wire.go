package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"rankgate/cachetier"
	"rankgate/cmd/rankgate/internal/config"
	"rankgate/degrade"
	"rankgate/gateway"
	"rankgate/gateway/identity"
	"rankgate/invalidation"
	"rankgate/rankcore"
	"rankgate/rankcore/aggregate"
	"rankgate/rankcore/countindex"
	"rankgate/rankcore/ingest"
	"rankgate/rankcore/memstore"
	"rankgate/rankcore/redisstore"
)

// edge is a wired rankgate: what runs, in the order of the flow, and what is closed when all of it has stopped.
type edge struct {
	cfg    *config.Config
	log    *slog.Logger
	reg    *prometheus.Registry
	store  *storeWatch
	parts  []part
	closes []func()
}

// sockets are the open listeners; ops is nil where operations have none of their own.
type sockets struct{ public, ops net.Listener }

// wire builds log -> store -> applier -> announcer, and store -> guard -> tier -> gateway, as far as the role
// goes. Nothing runs yet.
func wire(cfg *config.Config, auth gateway.ServiceAuth, at sockets, log *slog.Logger) (_ *edge, err error) {
	e := &edge{cfg: cfg, log: log, reg: newRegistry()}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	server, err := e.openServer()
	if err != nil {
		return nil, err
	}
	oplog, err := e.openLog(server)
	if err != nil {
		return nil, err
	}
	casts, err := e.connect(server) // apart from the log, whose traffic must not delay a beacon
	if err != nil {
		return nil, err
	}
	leases := e.openLeases(oplog)
	index := e.openIndex(leases)
	store, watch, err := e.openStore(index, e.openCounter(index, leases, casts))
	if err != nil {
		return nil, err
	}
	auditor := ingest.NewAuditor(ingest.AuditorConfig{
		Log: oplog, Boards: e.cfg.Boards, Leases: leases, Shards: store, Index: auditedIndex(store, index), Logger: log, Registerer: e.reg,
	})
	e.store = watch
	known := &health{boards: cfg.Boards, log: logHealth(oplog, server), store: watch, issuers: map[string]func() identity.KeyState{}}
	if cfg.Role != config.RoleGateway {
		e.wireCore(oplog, leases, store, index, casts, known)
		e.add("auditor", auditor.Run)
	}
	face := gateway.Config{
		Limits:  gateway.Limits{PerAddressRPS: cfg.Limits.PerAddressRPS, PerAddressConns: cfg.Limits.PerAddressConns},
		Origins: cfg.Origins, Verifier: auditor, Health: known.check, Gatherer: e.reg, Drain: drain, Logger: log, Registerer: e.reg,
	}
	if cfg.Role != config.RoleCore {
		if err := e.wireFace(&face, oplog, store, casts, known); err != nil {
			return nil, err
		}
	}
	face.Auth.Service = auth
	if err := e.identify(&face, known); err != nil {
		return nil, err
	}
	return e, e.wireGateways(face, at)
}

// coreStore is what both stores are.
type coreStore interface {
	rankcore.Reader
	ingest.Shards
	ingest.AuditedShards
	gateway.Outcomes
}

// openServer starts the embedded log server; nil where the log is elsewhere.
func (e *edge) openServer() (*ingest.Server, error) {
	if e.cfg.Log.URL != config.Embedded {
		return nil, nil
	}
	server, err := ingest.StartServer(ingest.EmbeddedConfig{
		Dir:        filepath.Join(e.cfg.Data, "log"),
		Listen:     e.cfg.Log.Listen,
		Durability: ingest.Durability(e.cfg.Log.Durability),
		MaxBytes:   e.cfg.Log.MaxBytes,
		Logger:     e.log,
	})
	if err != nil {
		return nil, err
	}
	e.onClose(server.Shutdown)
	e.add("log server", server.Run)
	return server, nil
}

// connect connects to the embedded server, or to the one the configuration names.
func (e *edge) connect(server *ingest.Server) (conn *nats.Conn, err error) {
	if server != nil {
		conn, err = server.Connect()
	} else {
		conn, err = ingest.Dial(e.cfg.Log.URL)
	}
	if err != nil {
		return nil, err
	}
	e.onClose(conn.Close)
	return conn, nil
}

func (e *edge) openLog(server *ingest.Server) (*ingest.Log, error) {
	conn, err := e.connect(server)
	if err != nil {
		return nil, err
	}
	oplog, err := ingest.OpenLog(ingest.LogConfig{
		Conn:       conn,
		Boards:     e.cfg.Boards,
		Retention:  e.cfg.Log.Retention,
		MaxBytes:   e.cfg.Log.MaxBytes,
		Replicas:   e.cfg.Log.Replicas,
		Durability: ingest.Durability(e.cfg.Log.Durability),
		Monitors:   e.cfg.Log.Monitors,
		Logger:     e.log,
		Registerer: e.reg,
	})
	if err != nil {
		return nil, err
	}
	e.add("log", oplog.Run)
	return oplog, nil
}

func (e *edge) openStore(index *countindex.Index, counter redisstore.Counter) (coreStore, *storeWatch, error) {
	if e.cfg.StoreURL == config.Embedded {
		if err := keepDefinitions(filepath.Join(e.cfg.Data, "store"), e.cfg.Boards); err != nil {
			return nil, nil, err
		}
		store, err := memstore.New(memstore.Config{
			Dir: filepath.Join(e.cfg.Data, "store"), Boards: e.cfg.Boards, Log: e.log, Registerer: e.reg,
		})
		if err != nil {
			return nil, nil, err
		}
		e.add("store", store.Run)
		return store, &storeWatch{}, nil
	}
	parts := degrade.NewParts(e.log, e.reg)
	store, err := redisstore.New(redisstore.Config{URL: e.cfg.StoreURL, Sentry: parts, Counter: counter, Log: e.log, Registerer: e.reg})
	if err != nil {
		return nil, nil, err
	}
	e.onClose(func() { _ = store.Close() }) // nothing asks it any more
	watch := &storeWatch{check: func(ctx context.Context) error { return store.Check(ctx, e.cfg.Boards...) }, parts: parts.States, log: e.log}
	e.add("store watch", watch.run)
	if index != nil {
		e.add("count index", func(ctx context.Context) error { return index.Run(ctx, store) })
	}
	return store, watch, nil
}

// openLeases is nil where no other core can feed these shards.
func (e *edge) openLeases(oplog *ingest.Log) *ingest.Leases {
	if e.cfg.Role == config.RoleGateway || alone(e.cfg) {
		return nil
	}
	leases := ingest.NewLeases(ingest.LeasesConfig{Log: oplog, Boards: e.cfg.Boards, Shards: shardsOf(e.cfg), Logger: e.log})
	e.add("leases", leases.Run)
	return leases
}

func (e *edge) wireCore(oplog *ingest.Log, leases *ingest.Leases, store coreStore, index *countindex.Index, casts *nats.Conn, known *health) {
	announcer := invalidation.NewAnnouncer(invalidation.AnnouncerConfig{
		Conn: casts, Every: beaconEvery(e.cfg.Boards), Logger: e.log, Registerer: e.reg,
	})
	e.add("announcer", announcer.Run)
	told := tellers{announcer}
	if !alone(e.cfg) {
		heads := aggregate.NewServer(aggregate.ServerConfig{
			Conn: casts, Boards: e.cfg.Boards, Shards: shardsOf(e.cfg), Source: store, Index: index, Logger: e.log, Registerer: e.reg,
		})
		e.add("aggregate", heads.Run)
		told = tellers{heads, announcer}
	}
	known.index = indexNews(index)
	known.appliers = map[rankcore.BoardID]func() ingest.ApplierStatus{}
	for _, b := range e.cfg.Boards {
		applier := ingest.NewApplier(ingest.ApplierConfig{
			Log: oplog, Board: b, Shards: indexedShards(store, index), Announcer: told, Leases: leases, Logger: e.log, Registerer: e.reg,
		})
		e.add("applier of "+string(b.ID), applier.Run)
		known.appliers[b.ID] = applier.Status
	}
}

func (e *edge) wireFace(face *gateway.Config, oplog *ingest.Log, store coreStore, casts *nats.Conn, known *health) error {
	snapshots := degrade.OpenSnapshots(degrade.SnapshotsConfig{
		Dir: snapshotsDir(e.cfg), Boards: e.cfg.Boards, Logger: e.log, Registerer: e.reg,
	})
	heard := &evictor{}                      // the listener tells the tier, and the tier asks the listener
	floors, _ := store.(invalidation.Floors) // shards in this process go back only with the process
	listener := invalidation.NewListener(invalidation.ListenerConfig{
		Conn: casts, Boards: e.cfg.Boards, Evictor: heard, Floors: floors, Logger: e.log, Registerer: e.reg,
	})
	guard := degrade.NewGuard(degrade.Config{
		Source: e.shared(store, casts, listener), Concurrency: e.cfg.Limits.CoreConcurrency, Snapshots: snapshots, Logger: e.log, Registerer: e.reg,
	})
	e.add("snapshots", func(ctx context.Context) error { return snapshots.Run(ctx, guard) })
	tier, err := cachetier.New(cachetier.Config{
		Source: guard, Progress: listener, MaxBytes: e.cfg.Cache.MaxBytes, Logger: e.log, Registerer: e.reg,
	})
	if err != nil {
		return err
	}
	e.onClose(tier.Close)
	heard.Tier = tier
	e.add("listener", listener.Run)
	e.add("audit of answers", tier.Audit)
	known.progress, known.reader = listener.Progress, tier
	face.Boards, face.Reader, face.Floor = e.cfg.Boards, tier, tier
	face.Writer, face.Applied, face.Outcomes = writer{oplog}, listener, store
	face.Quota, err = e.openQuota(store)
	return err
}

// shared is the store, with what one core reads for all gateways taken from there.
func (e *edge) shared(store rankcore.Reader, casts *nats.Conn, progress aggregate.Progress) rankcore.Reader {
	if alone(e.cfg) {
		return store
	}
	return aggregate.NewClient(aggregate.ClientConfig{
		Conn: casts, Boards: e.cfg.Boards, Shards: shardsOf(e.cfg), Source: store, Progress: progress, Logger: e.log, Registerer: e.reg,
	})
}

// wireGateways puts the face on the public listener, and operations on theirs.
func (e *edge) wireGateways(face gateway.Config, at sockets) error {
	ops := face
	face.Ops = e.cfg.Role == config.RoleCore || e.cfg.OpsListen == "" && config.IsLoopback(e.cfg.Listen)
	face.Profiles = e.cfg.OpsListen == "" && config.IsLoopback(e.cfg.Listen)
	public, err := gateway.New(face)
	if err != nil {
		return err
	}
	if at.ops != nil {
		ops.Reader, ops.Ops, ops.Profiles, ops.Registerer = nil, true, true, nil // its requests are not the public's
		ops.Limits, ops.Origins = gateway.Limits{PerAddressRPS: config.Unlimited, PerAddressConns: config.Unlimited}, nil
		second, err := gateway.New(ops)
		if err != nil {
			return err
		}
		e.add("operations", func(ctx context.Context) error { return second.Run(ctx, at.ops) })
	}
	e.add("gateway", func(ctx context.Context) error { return public.Run(ctx, at.public) })
	return nil
}
