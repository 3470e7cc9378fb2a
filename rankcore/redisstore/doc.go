// Package redisstore keeps the shards of boards on Redis or Redis Cluster: one sorted set, one hash of
// segment counts and the position in the log for each shard and season, changed together by one script.
//
// It takes steps from the applier and answers readers. It never retries, never decides what to do about a
// shard that is elsewhere or damaged, and never serves a board of which a shard is missing.
// It may import rankcore, go-redis and prometheus, and is the only package that may import go-redis.
package redisstore
