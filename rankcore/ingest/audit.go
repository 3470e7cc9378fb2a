package ingest

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// AuditedShards is the store as an auditor asks it. Each call bounds its own time.
type AuditedShards interface {
	// Audit compares what one shard counts with what it holds, and with repair puts right what it can.
	Audit(ctx context.Context, b *rankcore.Board, shard int, repair bool) (rankcore.Audit, error)
	Shards // to ask where they are, and for AcceptLoss
}

// AuditedIndex counts the members of all shards of a board beside them, and is asked as AuditedShards are.
type AuditedIndex interface {
	// Audit compares what the index counts with what the shards count together, and with repair has it counted anew
	// where that differs. It finds nothing where there is nothing to compare.
	Audit(ctx context.Context, b *rankcore.Board, repair bool) ([]rankcore.Drift, error)
}

// AuditorConfig describes an auditor.
type AuditorConfig struct {
	Log        *Log
	Boards     []*rankcore.Board // that Run audits
	Leases     *Leases           // Run leaves boards alone that others apply; nil: none are
	Shards     AuditedShards
	Index      AuditedIndex  // nil: none in this process
	Pass       time.Duration // in which Run audits every shard once, if that costs the store little enough; 0: DefaultPass
	Logger     *slog.Logger  // nil: silent
	Registerer prometheus.Registerer
}

// DefaultPass is how long Run takes to audit every shard once.
const DefaultPass = 10 * time.Minute

// Auditor holds shards against themselves and against the log, and a count index against them: it lives beside the log because where a shard may
// stand is the log's to say. Only AcceptLoss moves or empties a shard; else the applier does, and the auditor
// tells whether it did. Safe for concurrent use, and any number may run at once: a repair counts and writes in one moment.
type Auditor struct {
	owner   *Log
	stream  stream
	boards  []*rankcore.Board
	leases  *Leases
	shards  AuditedShards
	index   AuditedIndex
	pass    time.Duration
	settle  time.Duration // settleWithin, but in tests
	every   time.Duration // settleEvery, but in tests
	share   time.Duration // auditShare, but in tests
	log     *slog.Logger
	metrics auditMetrics
}

// NewAuditor returns an auditor. It asks nothing before Run or Verify.
func NewAuditor(cfg AuditorConfig) *Auditor {
	if cfg.Pass <= 0 {
		cfg.Pass = DefaultPass
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Auditor{
		owner: cfg.Log, stream: cfg.Log.stream, boards: cfg.Boards, leases: cfg.Leases, shards: cfg.Shards, index: cfg.Index, pass: cfg.Pass,
		settle: settleWithin, every: settleEvery, share: auditShare, log: cfg.Logger, metrics: newAuditMetrics(cfg.Registerer),
	}
}

// audit looks at one shard: at what it counts, whether the log has it where it stands, and whether it has taken in
// the message named due, of which none is always taken in.
func (a *Auditor) audit(ctx context.Context, b *rankcore.Board, shard int, repair bool, due rankcore.Position) (rankcore.Audit, error) {
	began := time.Now()
	found, err := a.shards.Audit(ctx, b, shard, repair)
	a.metrics.seconds.Observe(time.Since(began).Seconds())
	if err != nil || found.Damaged() {
		return found, err
	}
	drift, err := a.place(ctx, found.At, due)
	found.Drift = append(found.Drift, drift...)
	return found, err
}

// place tells how a position differs from the log.
func (a *Auditor) place(ctx context.Context, at, due rankcore.Position) ([]rankcore.Drift, error) {
	if !at.IsNone() {
		have, err := a.stream.messageAt(ctx, at.Seq)
		if err != nil {
			return nil, err
		}
		if have.Position != at {
			v, err := a.stream.look(ctx)
			if err != nil {
				return nil, err
			}
			detail := "the log does not have the message that the shard stands at"
			if v.first > at.Seq {
				detail = "the log no longer reaches back to where the shard stands"
			}
			return []rankcore.Drift{{Kind: rankcore.DriftPosition, Recorded: int64(at.Seq), Counted: int64(have.Seq), Detail: detail}}, nil
		}
	}
	if at.Seq >= due.Seq {
		return nil, nil
	}
	return []rankcore.Drift{{
		Kind: rankcore.DriftBehind, Recorded: int64(at.Seq), Counted: int64(due.Seq),
		Detail: "the shard does not move, and the log has more for it",
	}}, nil
}

// note counts what was found, and logs what was repaired: once, since it is right then.
func (a *Auditor) note(b *rankcore.Board, found *rankcore.Audit, err error) {
	which := strconv.Itoa(found.Shard)
	if found.Shard == rankcore.AllShards {
		which = "all"
	}
	if err != nil {
		a.metrics.failures.WithLabelValues(string(b.ID)).Inc()
		a.log.Debug("shard could not be audited, or their count index", "board", b.ID, "shard", which, "err", err)
		return
	}
	if found.Shard != rankcore.AllShards {
		a.metrics.shards.WithLabelValues(string(b.ID)).Inc()
	}
	for _, d := range found.Drift {
		a.metrics.drift.WithLabelValues(string(b.ID), d.Kind.String()).Inc()
		if d.Repaired {
			a.metrics.repaired.WithLabelValues(string(b.ID), d.Kind.String()).Inc()
			a.log.Warn("drift was repaired", "board", b.ID, "shard", which, "kind", d.Kind.String(),
				"season", d.Season, "recorded", d.Recorded, "counted", d.Counted, "detail", d.Detail)
		}
	}
}
