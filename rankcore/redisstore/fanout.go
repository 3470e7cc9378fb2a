package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rankgate/rankcore"
)

// answer is what one shard said, or why it did not.
type answer[T any] struct {
	value T
	err   error
}

// pipeline asks shards of one node in one round trip. It gives an answer for each of them, in their order; its error is
// that of a node that is sick, and then the answers up to the first one that is broken are good.
type pipeline[T any] func(ctx context.Context, node redis.UniversalClient, shards []int) ([]answer[T], error)

// fanOut asks the parts that hold the shards, all at once, and returns the shards' answers in their order. A part that is
// known to be sick costs nobody a wait, and one that is found out to be costs no other part its answers.
func fanOut[T any](ctx context.Context, s *Store, client redis.UniversalClient, b *rankcore.Board, shards []int, ask pipeline[T]) []answer[T] {
	answers := make([]answer[T], len(shards))
	if len(shards) == 0 {
		return answers
	}
	parts, err := s.parts(ctx, client, b, shards)
	if err != nil {
		for i := range answers {
			answers[i].err = err
		}
		return answers
	}
	var asking sync.WaitGroup
	for _, p := range parts[:len(parts)-1] {
		asking.Go(func() { askPart(ctx, s, client, b, shards, p, answers, ask) })
	}
	askPart(ctx, s, client, b, shards, parts[len(parts)-1], answers, ask)
	asking.Wait()
	follow(ctx, client, shards, answers, ask)
	for i := range answers {
		if err := answers[i].err; err != nil && !errors.Is(err, errChanged) && !errors.Is(err, rankcore.ErrNotRanked) {
			answers[i].err = fmt.Errorf("shard %d of board %s: %w", shards[i], b.ID, err)
		}
	}
	return answers
}

// askPart puts the answers of a part's shards where they belong.
func askPart[T any](ctx context.Context, s *Store, client redis.UniversalClient, b *rankcore.Board, shards []int, p *part, answers []answer[T], ask pipeline[T]) {
	asked := make([]int, len(p.indexes))
	for j, i := range p.indexes {
		asked[j] = shards[i]
	}
	var got []answer[T]
	err := s.sentry.Ask(ctx, p.name, func(ctx context.Context) (err error) {
		got, err = ask(ctx, p.node, asked)
		if err == nil {
			return nil
		}
		relearn(ctx, client, err)
		for j := range got {
			if j > 0 && broken(got[j].err) && !isReply(got[j].err) {
				s.suspects.blame(shardID{b.ID, asked[j]}, time.Now())
			}
			if broken(got[j].err) {
				break
			}
		}
		return unavailable(ctx, err)
	})
	for j, i := range p.indexes {
		if err != nil { // it may not have been waited for, so got is not looked at
			answers[i].err = err
		} else {
			answers[i] = got[j]
		}
	}
}

// follow asks once more for shards that the cluster has moved, or is moving, through the client that goes after them.
func follow[T any](ctx context.Context, client redis.UniversalClient, shards []int, answers []answer[T], ask pipeline[T]) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return
	}
	var moved, indexes []int
	for i := range answers {
		if isMoved(answers[i].err) {
			moved, indexes = append(moved, shards[i]), append(indexes, i)
		}
	}
	if len(moved) == 0 {
		return
	}
	cluster.ReloadState(ctx)
	got, _ := ask(ctx, cluster, moved) // every answer carries its own error
	for j, i := range indexes {
		answers[i] = got[j]
	}
}

// isMoved reports whether a node says that another one has the shard, or a part of it.
func isMoved(err error) bool {
	for _, prefix := range []string{"MOVED", "ASK", "TRYAGAIN"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
