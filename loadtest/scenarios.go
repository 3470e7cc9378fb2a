package loadtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Scenario is a kind of rig and the faults that are put on it, one after another in an order that the seed chooses.
type Scenario struct {
	Name  string
	About string

	layout layout
	faults []fault
	// noisy adds, for all the time, servers that forget their scripts once a second and replies that are lost.
	noisy bool
}

// fault hurts a rig and leaves it whole: what was killed runs again and what was frozen is thawed. What rankgate
// makes of it may take longer.
type fault struct {
	name   string
	strike func(ctx context.Context, t *trial)
}

// Scenarios are all there are.
func Scenarios() []Scenario {
	inRedis := []fault{
		{"redis killed", killRedis},
		{"redis killed, disk lost", emptyRedis},
		{"redis frozen", freezeRedis},
		{"redis restored from an older dump", restoreRedis},
		{"redis flushed", flushRedis},
		{"a key deleted", deleteKey},
		{"redis failed over to a replica that lags", failOver},
	}
	inLog := []fault{{"log killed", killLog}, {"log frozen", freezeLog}}
	inGates := []fault{
		{"rankgate killed", killGate},
		{"rankgate frozen", freezeGate},
		{"core frozen past any lease", freezeCore},
	}
	replies := fault{"replies lost and late", hurtReplies}
	return []Scenario{
		{
			Name: "kill", About: "one rankgate with everything embedded is killed", layout: embedded,
			faults: []fault{{"rankgate killed", killGate}},
		},
		{
			Name: "store-restore", About: "one rankgate gets older files of its embedded store, or none", layout: embedded,
			faults: []fault{{"store restored from older files", restoreStore}, {"store lost", emptyStore}},
		},
		{
			Name: "kill-redis-store", About: "one rankgate with its shards in Redis is killed and frozen", layout: oneRedis,
			faults: inGates[:2],
		},
		{
			Name: "redis", About: "Redis is killed, emptied, frozen, restored, flushed, failed over; keys are deleted", layout: oneRedis,
			faults: inRedis,
		},
		{
			Name: "redis-restore", About: "Redis goes back to an older dump, and to a replica that lags", layout: oneRedis,
			faults: []fault{inRedis[3], inRedis[6]},
		},
		{
			Name: "network", About: "replies of Redis and NATS are lost after the request was carried out, late, or cut off", layout: apart,
			faults: []fault{replies},
		},
		{
			Name: "cores", About: "a gateway and two cores are killed and frozen, also past any lease", layout: apart,
			faults: inGates,
		},
		{
			Name: "log", About: "NATS is killed and frozen", layout: apart, faults: inLog,
		},
		{
			Name: "log-restore", About: "NATS gets an older copy of its files, at rest and under load: what shards had must stay", layout: apart,
			faults: []fault{{"log restored at rest", restoreLogAtRest}, {"log restored under load", restoreLog}},
		},
		{
			Name: "mix", About: "all faults of a gateway, two cores, Redis and NATS; scripts are flushed and replies lost all the while",
			layout: apart, faults: slices.Concat(inRedis, inLog, inGates, []fault{replies}), noisy: true,
		},
		{
			Name: "clusters", About: "a Redis Cluster fails over to replicas that lag, one of three NATS servers is killed or frozen, and rankgates are",
			layout: clustered, noisy: true, faults: append([]fault{
				{"cluster failed over to a replica that lags", failOverCluster},
				{"log peer killed", killLogPeer},
				{"log peer frozen", freezeLogPeer},
			}, inGates...),
		},
		{
			Name: "reads", About: "what readers see while Redis is dead, silent, slow, cut off, full or read-only, or NATS is away", layout: plain,
			faults: []fault{
				{"redis away", redisAway},
				{"redis silent", redisSilent},
				{"redis slow", redisSlow},
				{"redis stalls", redisStalls},
				{"redis resets", redisResets},
				{"redis full", redisFull},
				{"redis read-only", redisReadOnly},
				{"log away", logAway},
				{"log silent", logSilent},
				{"both away", bothAway},
				{"both silent", bothSilent},
			},
		},
		{
			Name: "reads-nodes", About: "what readers see while one of four Redis masters is dead or silent", layout: fourMasters,
			faults: []fault{{"master away", masterAway}, {"master silent", masterSilent}},
		},
		{
			Name: "reads-failover", About: "what readers see while a Redis Cluster fails over", layout: replaced,
			faults: []fault{{"master replaced", masterReplaced}},
		},
	}
}

// AllScenarios is the name that stands for every one of them.
const AllScenarios = "all"

// scenariosNamed are the scenarios of a list of names with commas between.
func scenariosNamed(names string) (chosen []Scenario, err error) {
	all := Scenarios()
	for name := range strings.SplitSeq(names, ",") {
		if name == AllScenarios {
			chosen = append(chosen, all...)
			continue
		}
		i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("scenario: there is no %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
