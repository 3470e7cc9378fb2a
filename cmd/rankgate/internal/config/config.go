// Package config reads what rankgate is told: a YAML file, RANKGATE_ variables and flags, in that order of
// growing weight, over defaults that need nothing. It finds every mistake in one pass and says where each stands.
//
// It opens nothing but the file it is given, and never looks at the host's time zone.
// It may import rankcore, for the words of a board.
package config

import (
	"net"
	"slices"
	"strings"
	"time"

	"rankgate/rankcore"
)

// Embedded is the URL of a log or store that lives in this process.
const Embedded = "embedded"

// Role says which half of rankgate a process is.
type Role string

// The roles.
const (
	RoleAll     Role = "all"     // both halves in one process
	RoleGateway Role = "gateway" // only the public face: reads and writes
	RoleCore    Role = "core"    // only applier and upkeep
)

// Durability says when the embedded log calls a message stored.
type Durability string

// The durabilities.
const (
	Fsync Durability = "fsync" // when it is synced to disk
	OS    Durability = "os"    // when the operating system has it: a power loss may take it
)

// Config is everything rankgate can be told. It is complete and valid when Load returned it.
type Config struct {
	Listen    string // host:port of the public listener
	OpsListen string // host:port of metrics and profiles; empty: on Listen if that is loopback, else off
	Data      string // folder of everything that is kept; made when missing
	Role      Role
	Log       Log
	StoreURL  string // Embedded, or redis://host:port/db
	Auth      Auth
	Quota     Quota
	Limits    Limits
	Cache     Cache
	Origins   []string          // whose pages may ask from a browser: AnyOrigin alone, or scheme://host[:port]
	Boards    []*rankcore.Board // at least one, by name
}

// Log is where operations are kept.
type Log struct {
	URL        string // Embedded, or nats://host:port,...
	Listen     string // host:port where the embedded log lets other NATS clients in; empty: nowhere
	Durability Durability
	Monitors   []string // monitoring URLs of external servers, to learn whether they sync; empty: port 8222 of the connected one
	Replicas   int      // copies of each message in a NATS cluster, 1 to 5
	Retention  time.Duration
	MaxBytes   int64 // per board; a full log refuses writes
}

// Quota is what a requester may have.
type Quota struct {
	ExactPerDay int // exact ranks for each board and day; 0: none, Unlimited: any number
}

// Unlimited is the quota or limit that is none.
const Unlimited = -1

// Limits are what one network address may have, and the core all in all. 0: the default of who keeps it.
type Limits struct {
	PerAddressRPS   int // requests in a second, or Unlimited
	PerAddressConns int // connections at one time, or Unlimited
	CoreConcurrency int // questions to the core at one time
}

// Cache is what a gateway keeps near the reader.
type Cache struct {
	MaxBytes int64 // of answers, their keys and the forms in which they are sent
}

// AnyOrigin lets pages of every origin read.
const AnyOrigin = "*"

// Default is the configuration of a rankgate that was told nothing, without boards.
func Default() *Config {
	return &Config{
		Listen: "127.0.0.1:8080",
		Data:   "./data",
		Role:   RoleAll,
		Log: Log{
			URL:        Embedded,
			Durability: Fsync,
			Replicas:   1,
			Retention:  168 * time.Hour,
			MaxBytes:   10e9,
		},
		StoreURL: Embedded,
		Auth:     Auth{Users: AuthNone, Service: AuthNone},
		Quota:    Quota{ExactPerDay: 5},
		Cache:    Cache{MaxBytes: 128e6},
	}
}

// Shards that a board has when nobody says: many small ones where they spread over Redis nodes, few in one process.
const (
	redisShards    = 256
	embeddedShards = 16
)

func (c *Config) defaultShards() int {
	if c.StoreURL == Embedded {
		return embeddedShards
	}
	return redisShards
}

func defaultBoard(name string) *rankcore.Board {
	return &rankcore.Board{
		ID:       rankcore.BoardID(name),
		Seasons:  []rankcore.SeasonKind{rankcore.All},
		Location: time.UTC,
		Keep: map[rankcore.SeasonKind]time.Duration{
			rankcore.Day: 48 * time.Hour, rankcore.Week: 720 * time.Hour, rankcore.Month: 2160 * time.Hour,
		},
		Head:       1000,
		ExactDepth: 1_000_000,
		Dedupe:     10 * time.Minute,
		Freshness:  time.Second,

		SnapshotEvery:  time.Second,
		SnapshotMaxAge: 24 * time.Hour,
	}
}

// BoardNames are the names of the boards, sorted.
func (c *Config) BoardNames() []string {
	names := make([]string, len(c.Boards))
	for i, b := range c.Boards {
		names[i] = string(b.ID)
	}
	return names
}

// IsLoopback reports whether only this machine can reach a listener on the address.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *Config) sortBoards() {
	slices.SortFunc(c.Boards, func(a, b *rankcore.Board) int { return strings.Compare(string(a.ID), string(b.ID)) })
}
