package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rankgate/gateway/quota"
	"rankgate/gateway/quota/quotatest"
	"rankgate/loadtest/servers"
	"rankgate/rankcore/redisstore"
)

// quotas are a store's quotas in the gateway's words.
type quotas struct{ *redisstore.Quota }

func (q quotas) Reserve(ctx context.Context, c quota.Claim) (quota.Grant, error) {
	g, err := q.Quota.Reserve(ctx, redisstore.QuotaClaim(c))
	return quota.Grant(g), inWords(err)
}

func (q quotas) Confirm(ctx context.Context, c quota.Claim, answer []byte) (quota.Grant, error) {
	g, err := q.Quota.Confirm(ctx, redisstore.QuotaClaim(c), answer)
	return quota.Grant(g), inWords(err)
}

func (q quotas) Release(ctx context.Context, c quota.Claim) error {
	return q.Quota.Release(ctx, redisstore.QuotaClaim(c))
}

func inWords(err error) error {
	if errors.Is(err, redisstore.ErrQuotaDay) {
		return quota.ErrClock
	}
	return err
}

func TestQuota(t *testing.T) {
	server := servers.Redis(t)
	quotatest.Run(t, func(t *testing.T) (one, other quota.Store) {
		server.Do("FLUSHALL")
		return quotas{open(t, server.URL).Quota()}, quotas{open(t, server.URL).Quota()}
	})
}

func TestQuotaOnCluster(t *testing.T) {
	cluster := servers.RedisCluster(t, 3, 0)
	quotatest.Run(t, func(t *testing.T) (one, other quota.Store) {
		for _, m := range cluster.Masters {
			m.Do("FLUSHALL")
		}
		return quotas{open(t, cluster.URL).Quota()}, quotas{open(t, cluster.URL).Quota()}
	})
}

// No key of a quota is for ever, and none outlives its use by much.
func TestQuotaKeysExpire(t *testing.T) {
	server := servers.Redis(t)
	q := quotas{open(t, server.URL).Quota()}
	now := time.Now()
	for i := range 3 {
		c := quota.Claim{Account: quota.AccountOf("b", "ann"), ID: fmt.Sprint(i), Limit: 3, Days: quota.DaysAround(now, time.UTC)}
		if _, err := q.Reserve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if i > 0 { // one stays held
			if _, err := q.Confirm(t.Context(), c, []byte("answer")); err != nil {
				t.Fatal(err)
			}
		}
	}
	names, _ := server.Do("KEYS", "*").([]any)
	if len(names) != 4 {
		t.Errorf("keys: %v", names)
	}
	for _, name := range names {
		name, _ := name.(string)
		ttl, _ := server.Do("TTL", name).(int64)
		longest := int64(26 * 3600)
		if strings.Contains(name, ":request:") {
			longest = 60
		} else if !strings.Contains(name, ":"+now.UTC().Format(time.DateOnly)+":") {
			t.Errorf("%s does not name its day", name)
		}
		if ttl <= 0 || ttl > longest {
			t.Errorf("%s lives for %d s more", name, ttl)
		}
	}
}

// A reply that was lost is asked for again: one unit, one answer.
func TestQuotaSurvivesLostReplies(t *testing.T) {
	server := servers.Redis(t)
	q := quotas{open(t, server.URL).Quota()}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c := quota.Claim{Account: quota.AccountOf("b", "ann"), ID: "1", Limit: 3, Days: quota.DaysAround(time.Now(), time.UTC)}
	if _, err := q.Reserve(gone, c); err == nil {
		t.Error("an unanswered step did not fail")
	}
	server.Do("SCRIPT", "FLUSH")
	for range 2 {
		if g, err := q.Reserve(t.Context(), c); err != nil || !g.Granted || g.Used != 1 {
			t.Fatalf("%+v, %v", g, err)
		}
	}
	for range 2 {
		if g, err := q.Confirm(t.Context(), c, []byte("answer")); err != nil || !g.Granted || g.Used != 1 {
			t.Fatalf("%+v, %v", g, err)
		}
	}
}
