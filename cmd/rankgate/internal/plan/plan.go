// Package plan works out what a load needs: shards, memory, nodes, and the size of the log.
//
// It computes from measured constants and never looks at a server. It may import nothing of ours.
package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Measured constants: README and MEASURED.md tell how and where. Another machine has others.
const (
	MemberBytes    = 111                   // a member in Redis, beyond its id: ZSet, hash table and its share of the segments
	MemstoreBytes  = 48                    // a member in the embedded store, beyond its id
	IDBytes        = 77                    // an operation id that a shard remembers
	LogBytes       = 48                    // an operation in the log, beyond the user's id, in messages of a hundred
	RedisPerOp     = 13 * time.Microsecond // of Redis, for an operation and season, in large steps
	RedisSmallStep = 65 * time.Microsecond // of Redis, for a step of few operations
	StepsPerSecond = 10                    // steps a second to each shard, at most: small ones are gathered
	GatewayPerRead = 12 * time.Microsecond // of a gateway, for a read answered from memory
	CorePerOp      = 6 * time.Microsecond  // of gateway and core together, for an operation from HTTP to applied
)

// What is assumed, since it is for the operator to choose.
const (
	ShardMembers = 500_000 // members in a shard, at most, so that a script's reads stay short
	MinShards    = 256     // the default on Redis
	MaxShards    = 4096
	NodeBytes    = 2 << 30          // data on a Redis node, at most: a fork stops it for longer the more there is, and may take as much again
	Busy         = 0.5              // of a core, at most: a failover or a re-feed needs the rest
	Horizon      = 15 * time.Minute // ids are kept for dedupe (10 min), twice the slack and a part of a bucket
	Retention    = 168 * time.Hour  // of the log
)

// Load is what is asked for.
type Load struct {
	Users  int64   // ranked members
	Active int64   // of these, how many score within a day: the members of a day's season
	IDSize int64   // bytes of a user id, on average
	Writes float64 // operations a second
	Reads  float64 // reads a second
}

// Check reports everything that is wrong with the load.
func (l Load) Check() error {
	var list []string
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	wrong(l.Users < 1 || l.Users > 1e12, "users: %d is not within 1..10^12", l.Users)
	wrong(l.Active < 0 || l.Active > max(l.Users, 0), "active: %d is not within 0 and the number of users", l.Active)
	wrong(l.IDSize < 1 || l.IDSize > 256, "id-bytes: %d is not within 1..256", l.IDSize)
	wrong(!(l.Writes >= 0 && l.Writes <= 1e9), "writes: %v is not within 0..10^9", l.Writes)
	wrong(!(l.Reads >= 0 && l.Reads <= 1e9), "reads: %v is not within 0..10^9", l.Reads)
	if len(list) > 0 {
		return errors.New(strings.Join(list, "; "))
	}
	return nil
}

// Needs is what a load needs.
type Needs struct {
	Shards       int64
	Members      int64 // bytes of Redis for the season `all`
	Season       int64 // bytes of Redis for each further season of a day
	IDs          int64 // bytes of Redis for remembered operation ids
	RedisCores   float64
	Nodes        int64 // Redis masters
	Log          int64 // bytes of the log, on each of its replicas
	GatewayCores float64
	Embedded     int64 // bytes of a process with everything embedded
}

// For works out what a load needs.
func For(l Load) Needs {
	n := Needs{
		Shards:  shards(l.Users),
		Members: l.Users * (MemberBytes + l.IDSize),
		Season:  l.Active * (MemberBytes + l.IDSize),
		IDs:     int64(l.Writes * Horizon.Seconds() * IDBytes),
		Log:     int64(l.Writes * Retention.Seconds() * float64(LogBytes+l.IDSize)),
	}
	steps := math.Min(float64(n.Shards)*StepsPerSecond, l.Writes)
	n.RedisCores = l.Writes*RedisPerOp.Seconds() + steps*(RedisSmallStep-RedisPerOp).Seconds()
	n.GatewayCores = l.Reads*GatewayPerRead.Seconds() + l.Writes*CorePerOp.Seconds()
	n.Nodes = max(ceil(float64(n.Members+n.Season+n.IDs)/NodeBytes), ceil(n.RedisCores/Busy), 1)
	n.Embedded = l.Users*(MemstoreBytes+l.IDSize) + n.IDs
	return n
}

// shards is the smallest power of two that keeps shards small.
func shards(users int64) int64 {
	n := int64(MinShards)
	for n < MaxShards && users > n*ShardMembers {
		n *= 2
	}
	return n
}

func ceil(x float64) int64 { return int64(math.Ceil(x)) }
