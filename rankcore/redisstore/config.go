package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says where the shards are.
type Config struct {
	URL string // redis://[user:password@]host:port/db, rediss:// for TLS, redis+cluster://a:7000,b:7000, rediss+cluster://

	// ReadTimeout bounds a question to a shard. 0 is 100 ms.
	ReadTimeout time.Duration
	// StepTimeout bounds a step, which may carry 500 operations for each of many shards, and the loading
	// of a board's segments, which no reader waits for alone. 0 is 2 s.
	StepTimeout time.Duration

	Counter    Counter               // nil: shards are asked
	Sentry     Sentry                // which parts may be asked; nil: all, always
	Log        *slog.Logger          // nil: slog.Default
	Registerer prometheus.Registerer // nil: no metrics
}

// Connections of one process to each Redis node: readers and the applier have their own, so that neither waits
// for the other's. go-redis keeps pipelines, which is nearly all of it, in a second pool of each client.
const (
	readPool     = 4
	readPipes    = 16
	stepPool     = 2
	stepPipes    = 4
	connLifetime = 5 * time.Minute // a failover may leave a name that points elsewhere
	redirects    = 3               // MOVED and ASK; a script that runs again fits no more, and says where the shard is
)

const (
	defaultReadTimeout = 100 * time.Millisecond
	defaultStepTimeout = 2 * time.Second
)

// address is a parsed URL.
type address struct {
	hosts    []string
	cluster  bool
	tls      bool
	user     string
	password string
	db       int
}

// parseAddress reads a store URL. Its errors never show the password.
func parseAddress(raw string) (address, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	plain, cluster := strings.CutSuffix(scheme, "+cluster")
	if !ok || plain != "redis" && plain != "rediss" {
		return address{}, errors.New("a store URL is redis://host:port/db or redis+cluster://a:7000,b:7000, with rediss for TLS")
	}
	a := address{cluster: cluster, tls: plain == "rediss"}
	// net/url takes one host, so the list is cut off first.
	credentials, hosts, found := cutLast(rest, "@")
	if !found {
		credentials, hosts = "", rest
	}
	hosts, db, _ := strings.Cut(hosts, "/")
	if err := a.setCredentials(credentials); err != nil {
		return address{}, err
	}
	if db != "" {
		if _, err := fmt.Sscanf(db, "%d", &a.db); err != nil || fmt.Sprint(a.db) != db || a.db < 0 || cluster && a.db != 0 {
			return address{}, fmt.Errorf("store URL: %q is not a database of this kind of store", db)
		}
	}
	for host := range strings.SplitSeq(hosts, ",") {
		u, err := url.Parse("redis://" + host)
		if err != nil || u.Hostname() == "" || u.Host != host {
			return address{}, fmt.Errorf("store URL: %q is not host:port", host)
		}
		if u.Port() == "" {
			host += ":6379"
		}
		a.hosts = append(a.hosts, host)
	}
	if !cluster && len(a.hosts) > 1 {
		return address{}, errors.New("store URL: several hosts need redis+cluster://")
	}
	return a, nil
}

func (a *address) setCredentials(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var err1, err2 error
	a.user, err1 = url.PathUnescape(user)
	a.password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("store URL: user and password are to be percent-encoded")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", "", false
}

// dial makes a client that waits for a reply no longer than timeout. It does not connect yet.
//
// Who waits for a connection longer than wait has not asked at all: what comes that late would seldom be in time.
//
// Nothing is retried below this package: a reader has an older answer to fall back on, and the applier decides
// for itself. Maintenance notifications and client names are commands that plain Redis before 7.2 refuses.
func (a address) dial(conns *idlers, timeout, wait time.Duration, pool, pipes int) redis.UniversalClient {
	o := redis.UniversalOptions{
		Addrs: a.hosts, DB: a.db, Username: a.user, Password: a.password, IsClusterMode: a.cluster,
		Protocol: 2, MaxRetries: -1, MaxRedirects: redirects, DialerRetries: 1,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: wait, ContextTimeoutEnabled: true,
		PoolSize: pool, PipelinePoolSize: pipes, ConnMaxLifetime: connLifetime, ConnMaxLifetimeJitter: connLifetime / 5,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	var secure *tls.Config
	if a.tls {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	o.Dialer = conns.after(redis.NewDialer(&redis.Options{DialTimeout: timeout, TLSConfig: secure}))
	return redis.NewUniversalClient(&o)
}
