package main

import (
	"context"
	"errors"
	"path/filepath"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/gateway"
	"rankgate/gateway/quota"
	"rankgate/gateway/quota/journal"
	"rankgate/rankcore/redisstore"
)

// openQuota opens what counts exact ranks: Redis where the shards are there, so that all gateways count together,
// and else a file of this process. It is nil where they are not counted.
func (e *edge) openQuota(store coreStore) (*gateway.Quota, error) {
	perDay := e.cfg.Quota.ExactPerDay
	switch perDay {
	case config.Unlimited:
		return nil, nil
	case 0:
		return &gateway.Quota{}, nil
	}
	if shared, ok := store.(*redisstore.Store); ok {
		return &gateway.Quota{PerDay: perDay, Store: redisQuota{shared.Quota()}}, nil
	}
	own, err := journal.Open(journal.Config{Path: filepath.Join(e.cfg.Data, "quota"), Log: e.log})
	if err != nil {
		return nil, err
	}
	e.onClose(func() {
		if err := own.Close(); err != nil {
			e.log.Error("the quota journal was not closed", "cause", err)
		}
	})
	return &gateway.Quota{PerDay: perDay, Store: own}, nil
}

// redisQuota is Redis's quota in the gateway's words.
type redisQuota struct{ q *redisstore.Quota }

func (r redisQuota) Reserve(ctx context.Context, c quota.Claim) (quota.Grant, error) {
	g, err := r.q.Reserve(ctx, redisstore.QuotaClaim(c))
	return quota.Grant(g), quotaError(err)
}

func (r redisQuota) Confirm(ctx context.Context, c quota.Claim, answer []byte) (quota.Grant, error) {
	g, err := r.q.Confirm(ctx, redisstore.QuotaClaim(c), answer)
	return quota.Grant(g), quotaError(err)
}

func (r redisQuota) Release(ctx context.Context, c quota.Claim) error {
	return quotaError(r.q.Release(ctx, redisstore.QuotaClaim(c)))
}

func quotaError(err error) error {
	if errors.Is(err, redisstore.ErrQuotaDay) {
		return quota.ErrClock
	}
	return err
}
