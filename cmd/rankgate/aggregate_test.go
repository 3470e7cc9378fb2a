package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rankgate/loadtest/servers"
)

// calls is how often Redis was asked a command.
func calls(t *testing.T, r *servers.RedisServer, command string) int64 {
	t.Helper()
	info, _ := r.Do("INFO", "commandstats").(string)
	found := regexp.MustCompile("cmdstat_" + command + ":calls=([0-9]+)").FindStringSubmatch(info)
	if found == nil {
		return 0
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// watching reads a gateway's top over and over until ctx ends: every answer is one, and none shows an earlier sum of
// scores than the one before it of the same length.
func watching(ctx context.Context, t *testing.T, gateway *child) (answers int) {
	last := map[int]int64{}
	for ctx.Err() == nil {
		for _, limit := range []int{5, 20, 50} {
			var top page
			if status, err := gateway.do(http.MethodGet, fmt.Sprintf("/v1/boards/power/top?limit=%d", limit), "", &top); err != nil || status != http.StatusOK {
				t.Errorf("a read: %d, %v", status, err)
				return answers
			}
			if top.Status == "updating" {
				continue
			}
			sum := int64(0)
			for _, e := range top.Entries {
				sum += e.Score
			}
			if sum < last[limit] {
				t.Errorf("the top %d shows %d in all, after %d", limit, sum, last[limit])
			}
			last[limit] = sum
			answers++
		}
	}
	return answers
}

// However many gateways show a board's top in however many lengths, its shards are merged ten times a second. While the
// core does not answer, gateways read them themselves, each the less often the more of them there are; and no answer
// goes back.
func TestOneMergeForAllGateways(t *testing.T) {
	const shards = 16
	nats, redis := servers.NATS(t), servers.Redis(t)
	config := fmt.Sprintf("boards: { power: { update: add, shards: %d } }\nlog: { url: %q, monitors: [%q] }\nstore: { url: %q }\nlimits: { per_address_rps: -1 }\nrole: ",
		shards, nats.URL, nats.MonitorURL, redis.URL)
	cores := []*child{startChild(t, config+"core"), startChild(t, config+"core")}
	var gateways []*child
	for range 3 {
		gateways = append(gateways, startChild(t, config+"gateway"))
	}
	for _, gateway := range gateways {
		gateway.awaitReady(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	for _, gateway := range gateways {
		work.Go(func() {
			t.Logf("%d answers", watching(ctx, t, gateway))
		})
		work.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				body := fmt.Sprintf(`{"ops":[{"user":"user%d","add":1},{"user":"user%d","add":2}]}`, n%40, n%17)
				if status, err := gateway.do(http.MethodPost, "/v1/boards/power/scores", body, nil); err != nil || status != http.StatusAccepted {
					t.Errorf("a write: %d, %v", status, err)
					return
				}
			}
		})
	}
	gate := gateways[0]
	eventually(t, tryFor, func() error { // gateways have found the core
		if n := metric(t, gate.api, `rankgate_aggregate_asked_total{result="answered"}`); n < 10 {
			return fmt.Errorf("the core answered %v times", n)
		}
		return nil
	})
	own := func() (n float64) {
		for _, gateway := range gateways {
			n += metric(t, gateway.api, "rankgate_aggregate_own_readings_total")
		}
		return n
	}
	answered := func() (n float64) {
		for _, gateway := range gateways {
			n += metric(t, gateway.api, `rankgate_aggregate_asked_total{result="answered"}`)
		}
		return n
	}
	// merged counts the merges while work is done: a merge may take a second round.
	merged := func(while func()) (merges, mine, took float64) {
		began, before, alone := time.Now(), calls(t, redis, "zrange"), own()
		while()
		return float64(calls(t, redis, "zrange")-before) / shards / 2, own() - alone, time.Since(began).Seconds()
	}
	asked := answered()
	merges, mine, took := merged(func() {
		eventually(t, tryFor, func() error {
			if n := answered() - asked; n < 200 {
				return fmt.Errorf("%v answers", n)
			}
			return nil
		})
	})
	t.Logf("%v answers to gateways, and %v readings of their own, cost %.1f merges in %.1f s", answered()-asked, mine, merges, took)
	if most := 10*took + 2; merges-mine > most {
		t.Errorf("%.1f merges in %.1f s, and %v readings of gateways", merges, took, mine)
	}
	for _, c := range cores {
		c.Freeze() // the questions reach them, and nobody answers
	}
	merges, mine, took = merged(func() { <-time.After(3 * time.Second) })
	for _, c := range cores {
		c.Thaw()
	}
	t.Logf("without the core %v readings of gateways cost %.1f merges in %.1f s", mine, merges, took)
	if most := 5*took + float64(len(gateways)) + 1; mine > most || merges > most || mine == 0 {
		t.Errorf("without the core %.1f merges in %.1f s, and %v readings of gateways", merges, took, mine)
	}
	leader := applier(t, cores...)
	leader.Kill()
	applier(t, cores[1-slices.Index(cores, leader)])
	asked = answered()
	eventually(t, tryFor, func() error {
		if answered() < asked+10 {
			return fmt.Errorf("the core that took over does not answer")
		}
		return nil
	})
	leader.Restart()
	cancel()
}
