package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"rankgate/loadtest/servers"
)

// unknownUsers asks for the ranks of n users that nobody has, many at once on one connection, and counts how many were
// said not to be ranked. Where shards are not known to be current, that is not said.
func (c *child) unknownUsers(n int, seed uint64) (unknown int64, err error) {
	const atOnce = 50
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	random, answers := rand.New(rand.NewPCG(seed, 1)), bufio.NewReader(conn)
	for ; n > 0; n -= atOnce {
		var ask strings.Builder
		for range atOnce {
			id := fmt.Sprintf("%x%x%s", random.Uint64(), random.Uint64(), strings.Repeat("x", 200)) // long ones take more room
			fmt.Fprintf(&ask, "GET /v1/boards/power/users/%s/rank HTTP/1.1\r\nHost: rankgate\r\n\r\n", id)
		}
		if _, err := io.WriteString(conn, ask.String()); err != nil {
			return unknown, err
		}
		for range atOnce {
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				return unknown, err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			if resp.Body.Close(); err != nil {
				return unknown, err
			}
			switch resp.StatusCode {
			case http.StatusNotFound:
				unknown++
			case http.StatusOK:
			default:
				return unknown, errors.New(resp.Status)
			}
		}
	}
	return unknown, nil
}

// Whoever invents names fills neither the memory of a gateway nor Redis, and drives nobody's answer out: names that
// nobody has are bounded apart.
func TestRandomIDsTakeNoRoom(t *testing.T) { randomIDsTakeNoRoom(t, 40_000) }

// randomIDsTakeNoRoom asks for so many ids, four clients at once.
func randomIDsTakeNoRoom(t *testing.T, ids int64) {
	t.Helper()
	const (
		bound = 4 << 20
		each  = 5_000
	)
	nats, redis := servers.NATS(t), servers.Redis(t)
	c := startChild(t, fmt.Sprintf("boards: { power: { shards: 4 } }\nlimits: { per_address_rps: -1 }\ncache: { max_bytes: %d }\nlog: { url: %q }\nstore: { url: %q }",
		bound, nats.URL, redis.URL))
	c.awaitReady(t)
	scoreOf(c.api, "ann")
	seed, unknown := uint64(0), atomic.Int64{}
	ask := func() {
		t.Helper()
		var all sync.WaitGroup
		for range 4 {
			seed++
			mine := seed
			all.Go(func() {
				n, err := c.unknownUsers(each, mine)
				if unknown.Add(n); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	ask() // what a busy process takes anyway
	keys, before := redis.Do("DBSIZE"), metric(t, c.api, "process_resident_memory_bytes")
	unknown.Store(0)
	for was := int64(0); was < ids; was = unknown.Load() {
		eventually(t, tryFor, func() error {
			if ask(); unknown.Load() == was {
				return errors.New("nobody was said not to be ranked")
			}
			return nil
		})
	}
	if now := redis.Do("DBSIZE"); now != keys {
		t.Errorf("%v keys in Redis, after %v", now, keys)
	}
	if held := metric(t, c.api, "rankgate_cachetier_held_bytes"); held > bound {
		t.Errorf("%v bytes are held, of %d", held, bound)
	}
	grown := metric(t, c.api, "process_resident_memory_bytes") - before
	if t.Logf("%d ids of 232 bytes took %.1f MB", unknown.Load(), grown/(1<<20)); grown > 16<<20 {
		t.Errorf("the process has grown by %.0f bytes, %.0f for each id", grown, grown/float64(unknown.Load()))
	}
}
