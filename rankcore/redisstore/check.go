package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// minimumVersion is the first Redis that refuses a script for lack of memory before it starts.
const minimumVersion = 7

// Check asks every master for the settings that scores depend on. Its error says what to change; until then, Redis may
// drop parts of a board at will or leave a step half done.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	cluster, ok := s.steps.(*redis.ClusterClient)
	if !ok {
		return checkNode(ctx, s.steps)
	}
	var mu sync.Mutex
	var wrong []error
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		if err := checkNode(ctx, node); err != nil {
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, fmt.Errorf("%s: %w", node.Options().Addr, err))
		}
		return nil
	})
	return errors.Join(append(wrong, err)...)
}

func checkNode(ctx context.Context, node redis.Cmdable) error {
	info, err := node.Info(ctx, "server", "memory").Result()
	if err != nil {
		return fmt.Errorf("asking Redis about itself: %w", err)
	}
	var wrong []error
	version := infoField(info, "redis_version")
	if major, _, _ := strings.Cut(version, "."); toInt(major) < minimumVersion {
		wrong = append(wrong, fmt.Errorf("redis is version %s, at least %d is needed", version, minimumVersion))
	}
	if policy := infoField(info, "maxmemory_policy"); policy != "noeviction" {
		wrong = append(wrong, fmt.Errorf("maxmemory-policy is %q, and would drop parts of a board: set it to noeviction", policy))
	}
	return errors.Join(wrong...)
}

// infoField is one line's value of INFO's answer, "" when it is not there.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func toInt(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
