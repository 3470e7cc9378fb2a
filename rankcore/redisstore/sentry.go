package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// Sentry stands before the parts of the store, which are nodes, named by their address, and shards that have been sick
// while their node was well.
type Sentry interface {
	// Ask puts the question to the part, unless the part is known to be sick, and returns within ctx's deadline. Its
	// error is the question's own, which is nil for whatever a part answered, or why the part was not asked or not
	// waited for; what a question brings that was not waited for nobody may look at.
	Ask(ctx context.Context, part string, question func(context.Context) error) error
}

// unguarded asks always.
type unguarded struct{}

func (unguarded) Ask(ctx context.Context, _ string, question func(context.Context) error) error {
	return question(ctx)
}

// brokenReplies begin the errors of a node that is there but cannot answer for any of its shards.
var brokenReplies = []string{"LOADING", "CLUSTERDOWN", "MASTERDOWN", "BUSY ", "NOAUTH", "WRONGPASS", "NOPERM"}

// broken reports whether err shows a node that is sick. An answer that a reader cannot use is an answer; and when
// all connections are taken, it is by us.
func broken(err error) bool {
	if err == nil || errors.Is(err, redis.Nil) || errors.Is(err, redis.ErrPoolTimeout) {
		return false
	}
	if !isReply(err) {
		return true
	}
	for _, prefix := range brokenReplies {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// A suspect is a shard at which a node stopped answering, after it had answered for others in the same pipeline. It is
// asked apart for a while: either the others are well without it, and only its own part is sick, or it was innocent.
const (
	suspectFor   = 10 * time.Second
	mostSuspects = 16
)

// suspects are the shards under suspicion. Safe for concurrent use.
type suspects struct {
	mu    sync.Mutex // guards until
	until map[shardID]time.Time
}

// blame puts a shard under suspicion.
func (s *suspects) blame(id shardID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, until := range s.until {
		if now.After(until) {
			delete(s.until, other)
		}
	}
	if _, known := s.until[id]; known || len(s.until) < mostSuspects {
		s.until[id] = now.Add(suspectFor)
	}
}

// has reports whether a shard is under suspicion.
func (s *suspects) has(id shardID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.until) > 0 && now.Before(s.until[id])
}

// part is shards that are asked in one pipeline: those of a node, or a suspect of it.
type part struct {
	name    string
	node    redis.UniversalClient
	indexes []int // of the shards asked
}

// parts sorts shards by what is asked at once. The error is that of a cluster nobody can tell the masters of.
func (s *Store) parts(ctx context.Context, client redis.UniversalClient, b *rankcore.Board, shards []int) ([]*part, error) {
	now := time.Now()
	cluster, _ := client.(*redis.ClusterClient)
	var list []*part
	byName := make(map[string]*part, 4)
	for i, shard := range shards {
		node, name := client, s.address
		if cluster != nil {
			master, err := cluster.MasterForKey(ctx, prefix(b, shard))
			if err != nil {
				return nil, err
			}
			node, name = master, master.Options().Addr
		}
		if s.suspects.has(shardID{b.ID, shard}, now) {
			name += " " + string(b.ID) + ":" + strconv.Itoa(shard)
		}
		p := byName[name]
		if p == nil {
			p = &part{name: name, node: node}
			byName[name], list = p, append(list, p)
		}
		p.indexes = append(p.indexes, i)
	}
	return list, nil
}
