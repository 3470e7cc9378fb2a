package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// minimumVersion is the first Redis that refuses a script for lack of memory before it starts.
const minimumVersion = 7

// Unfit is why boards must not be kept on a Redis as it is: it says what to change. Until then Redis may drop parts of
// a board at will, leave a step half done, or hold a board that was made with other shards.
type Unfit struct{ Why string }

func (u *Unfit) Error() string { return u.Why }

// Away is that some nodes of a cluster do not answer, while others do.
type Away struct {
	Nodes, Of int
	cause     error
}

func (a *Away) Error() string { return fmt.Sprintf("%d of %d nodes: %v", a.Nodes, a.Of, a.cause) }

func (a *Away) Unwrap() error { return a.cause }

// Check asks every master for the settings that scores depend on, and whether boards that are there have the shards
// they are to have, and has a torn log file written anew. It fails with an *Unfit for each thing that is wrong, with
// an *Away where nodes do not answer, and with what else hindered it.
func (s *Store) Check(ctx context.Context, boards ...*rankcore.Board) error {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	err := s.checkNodes(ctx)
	var unfit *Unfit
	if err != nil && !errors.As(err, &unfit) {
		return err // the boards would say the same
	}
	wrong := []error{err}
	for _, b := range boards {
		wrong = append(wrong, s.checkShards(ctx, b))
	}
	return errors.Join(wrong...)
}

// checkShards asks the first shard, which every board has, what the board was created as.
func (s *Store) checkShards(ctx context.Context, b *rankcore.Board) error {
	created, err := s.steps.HGet(ctx, prefix(b, 0)+"meta", "layout").Result()
	if errors.Is(err, redis.Nil) || err == nil && created == layout(b) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking for the shards of board %q: %w", b.ID, err)
	}
	was, is := strings.Split(created, ":"), strings.Split(layout(b), ":")
	if len(was) == len(is) && was[0] == is[0] {
		for i, setting := range fixed {
			if was, is := was[i+1], is[i+1]; was != is {
				return &Unfit{fmt.Sprintf("board %q was created with %s: %s, not %s: that is fixed once the board exists, configure %s: %s",
					b.ID, setting, was, is, setting, was)}
			}
		}
	}
	return &Unfit{fmt.Sprintf("board %q was created by another version of rankgate: its layout is %s, not %s", b.ID, created, layout(b))}
}

func (s *Store) checkNodes(ctx context.Context) error {
	cluster, ok := s.steps.(*redis.ClusterClient)
	if !ok {
		return checkNode(ctx, s.steps)
	}
	var mu sync.Mutex
	var wrong, away []error
	nodes := 0
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		err := checkNode(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		nodes++
		if err == nil {
			return nil
		}
		var unfit *Unfit
		err = fmt.Errorf("%s: %w", node.Options().Addr, err)
		if errors.As(err, &unfit) {
			wrong = append(wrong, err)
		} else {
			away = append(away, err)
		}
		return nil
	})
	if n := len(away); n > 0 && n < nodes {
		away = []error{&Away{n, nodes, errors.Join(away...)}}
	}
	return errors.Join(append(append(wrong, away...), err)...)
}

func checkNode(ctx context.Context, node redis.Cmdable) error {
	info, err := node.Info(ctx, "server", "memory", "persistence").Result()
	if err != nil {
		return fmt.Errorf("asking Redis about itself: %w", err)
	}
	if isTorn(info) {
		_ = node.BgRewriteAOF(ctx) // where that is not allowed, somebody else cares for the file
	}
	var wrong []error
	version := infoField(info, "redis_version")
	if major, _, _ := strings.Cut(version, "."); toInt(major) < minimumVersion {
		wrong = append(wrong, &Unfit{fmt.Sprintf("redis is version %s, at least %d is needed", version, minimumVersion)})
	}
	if policy := infoField(info, "maxmemory_policy"); policy != "noeviction" {
		wrong = append(wrong, &Unfit{fmt.Sprintf("maxmemory-policy is %q, and would drop parts of a board: set it to noeviction", policy)})
	}
	return errors.Join(wrong...)
}

// isTorn reports whether the log file of a Redis may have half a step in it: one it has not written anew since it started.
// A Redis that was killed while it wrote leaves a transaction without its end. The next start cuts off only what is not
// a whole command, and carries nothing of it out; but what is appended then joins what is left, and the start after that
// carries out both: a score comes back that was changed since, and no count tells.
func isTorn(info string) bool {
	is := func(name, value string) bool { return infoField(info, name) == value }
	return is("aof_enabled", "1") && is("loading", "0") && is("aof_last_rewrite_time_sec", "-1") &&
		is("aof_rewrite_in_progress", "0") && is("aof_rewrite_scheduled", "0") && is("aof_last_bgrewrite_status", "ok")
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
