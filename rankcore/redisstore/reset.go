package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// Reset empties a shard that is not whole, and nothing else: the script decides by itself, since the caller may be
// late. Meta and index each name every key, so either is enough to find them. Where both are lost, or see nothing
// wrong though a key stands there that neither names, the shard's names are looked for and the script decides again.
func (s *Store) Reset(ctx context.Context, b *rankcore.Board, shard int) error {
	done, err := s.reset(ctx, b, shard, nil)
	if err != nil || done == "emptied" {
		return err
	}
	found, err := s.scan(ctx, b, shard)
	if err != nil {
		return fmt.Errorf("looking for keys of shard %d of board %s: %w", shard, b.ID, err)
	}
	_, err = s.reset(ctx, b, shard, found)
	return err
}

// reset runs the script, which is also given the names that were found.
func (s *Store) reset(ctx context.Context, b *rankcore.Board, shard int, found []string) (done string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	args := make([]any, len(found))
	for i, name := range found {
		args[i] = name
	}
	if done, err = s.run(ctx, s.steps, resetScript, []call{{shardKeys(b, shard), args}})[0].Text(); err != nil {
		return "", fmt.Errorf("resetting shard %d of board %s: %w", shard, b.ID, err)
	}
	return done, nil
}

// scan looks through all names on the shard's node. It is slow where many others live beside the boards, and is
// only for mending.
func (s *Store) scan(ctx context.Context, b *rankcore.Board, shard int) ([]string, error) {
	own := prefix(b, shard)
	node := redis.Cmdable(s.steps)
	if cluster, ok := s.steps.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, own)
		if err != nil {
			return nil, err
		}
		node = master
	}
	var found []string
	for cursor := uint64(0); ; {
		names, next, err := node.Scan(ctx, cursor, own+"*", 1000).Result()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasPrefix(name, own) {
				found = append(found, name)
			}
		}
		if cursor = next; cursor == 0 {
			return found, nil
		}
	}
}
