package config

import (
	"fmt"
	"math"
	"strings"
	"time"
	_ "time/tzdata" // the zones come with the binary; the machine may have none, or old ones

	"rankgate/rankcore"
)

// A key is what may stand at one place of the configuration. The file, the variables and the flags are all
// walked along the same keys, so they cannot disagree about names, types or bounds.
type key interface{ want() string }

type (
	// section is a mapping with known names.
	section map[string]key
	// leaf is a single value.
	leaf struct {
		what string
		set  func(text string) error
	}
	// words is a list of single values.
	words struct {
		what string
		set  func(texts []string) error
	}
	// list is a list of mappings. It replaces what was given before: clear, then add for the keys of each.
	list struct {
		what  string
		clear func()
		add   func() section
	}
	// named is a mapping whose names the user chooses; open checks a name and gives its keys, of a wrong one too.
	named struct {
		what string
		open func(name string) (section, error)
	}
)

func (section) want() string { return "a mapping" }
func (l leaf) want() string  { return l.what }
func (w words) want() string { return w.what }
func (l list) want() string  { return l.what }
func (n named) want() string { return n.what }

const wholeNumber = "a whole number"

// maxPerDay is beyond what anybody asks by hand, and a number that stays one everywhere.
const maxPerDay = 1_000_000_000

// maxLimit is more than a machine can do.
const maxLimit = 1_000_000

// draft is a configuration that is still being read.
type draft struct {
	*Config
	boards map[string]*rankcore.Board
	shards map[string]bool // boards whose shards somebody gave
}

// What is beyond these cannot work: a beacon comes several times within the freshness bound, a page of the head is
// held in memory and sent at once, a message of the log may be nearly a megabyte, and so may a page be in the cache.
const (
	leastFreshness = 100 * time.Millisecond
	maxHead        = 100_000
	leastLog       = 2_000_000
	leastCache     = 1_000_000
)

func (d *draft) keys() section {
	return section{
		"listen":     text("an address such as 127.0.0.1:8080", &d.Listen, checkAddress),
		"ops_listen": text("an address such as 127.0.0.1:9090", &d.OpsListen, optional(checkAddress)),
		"data":       text("a folder", &d.Data, checkGiven),
		"role":       choice(&d.Role, RoleAll, RoleGateway, RoleCore),
		"log": section{
			"url":        text("embedded or nats://host:4222", &d.Log.URL, checkLogURL),
			"listen":     text("an address such as 127.0.0.1:4222", &d.Log.Listen, optional(checkAddress)),
			"durability": choice(&d.Log.Durability, Fsync, OS),
			"monitors":   words{monitorURLs, d.monitors},
			"replicas":   number(&d.Log.Replicas, 1, 5),
			"retention":  duration(&d.Log.Retention, time.Second),
			"max_bytes":  size(&d.Log.MaxBytes, leastLog),
		},
		"store": section{"url": text("embedded or redis://host:6379/0", &d.StoreURL, checkStoreURL)},
		"auth":  d.authKeys(),
		"quota": section{"exact_per_day": number(&d.Quota.ExactPerDay, Unlimited, maxPerDay)},
		"limits": section{
			"per_address_rps":   number(&d.Limits.PerAddressRPS, Unlimited, maxLimit),
			"per_address_conns": number(&d.Limits.PerAddressConns, Unlimited, maxLimit),
			"core_concurrency":  number(&d.Limits.CoreConcurrency, 0, maxLimit),
		},
		"cache":  section{"max_bytes": size(&d.Cache.MaxBytes, leastCache)},
		"cors":   section{"origins": words{"a list of origins such as https://example.com, or [\"*\"]", d.origins}},
		"boards": named{"a mapping of board names", d.board},
	}
}

func (d *draft) board(name string) (section, error) {
	_, misnamed := rankcore.ParseBoardID(name)
	b := d.boards[name]
	if b == nil {
		b = defaultBoard(name)
		d.boards[name] = b
	}
	shards := number(&b.Shards, rankcore.MinShards, rankcore.MaxShards)
	return section{
		"order":  parsed("desc or asc", b.Order.UnmarshalText),
		"update": parsed("add, set or best", b.Update.UnmarshalText),
		"ties":   parsed("shared or first", b.Ties.UnmarshalText),
		"scale":  number(&b.Scale, 0, rankcore.MaxScale),
		"shards": leaf{shards.what, func(text string) error {
			d.shards[name] = true
			if err := shards.set(text); err != nil {
				return err
			}
			if b.Shards&(b.Shards-1) != 0 {
				return fmt.Errorf("%d is not a power of two", b.Shards)
			}
			return nil
		}},
		"seasons":  words{"a list of all, day, week, month", func(texts []string) error { return setSeasons(b, texts) }},
		"timezone": leaf{"an IANA name such as Europe/Berlin", func(text string) error { return setZone(b, text) }},
		"keep": section{
			"day":   keep(b, rankcore.Day),
			"week":  keep(b, rankcore.Week),
			"month": keep(b, rankcore.Month),
		},
		"head":             number(&b.Head, 1, maxHead),
		"exact_depth":      number(&b.ExactDepth, 0, math.MaxInt64),
		"dedupe":           duration(&b.Dedupe, time.Second),
		"freshness":        duration(&b.Freshness, leastFreshness),
		"snapshot_every":   duration(&b.SnapshotEvery, leastFreshness),
		"snapshot_max_age": duration(&b.SnapshotMaxAge, time.Second),
	}, misnamed
}

func setSeasons(b *rankcore.Board, texts []string) error {
	var kinds []rankcore.SeasonKind
	for _, text := range texts {
		var k rankcore.SeasonKind
		if err := k.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		for _, seen := range kinds {
			if seen == k {
				return fmt.Errorf("%s is named twice", k)
			}
		}
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return fmt.Errorf("name at least one of all, day, week, month")
	}
	b.Seasons = kinds
	return nil
}

func setZone(b *rankcore.Board, name string) error {
	// "Local" is the host's zone, which must never matter.
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") {
		return fmt.Errorf("%q is not an IANA time zone such as UTC or Europe/Berlin", name)
	}
	b.Location = loc
	return nil
}

func keep(b *rankcore.Board, k rankcore.SeasonKind) leaf {
	return leaf{"a duration such as 48h", func(text string) error {
		d, err := parseDuration(text)
		if err == nil {
			b.Keep[k] = d
		}
		return err
	}}
}
