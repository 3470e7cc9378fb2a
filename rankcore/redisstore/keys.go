package redisstore

import (
	"strconv"

	"rankgate/rankcore"
)

// layoutVersion changes when the shape of keys or values does.
const layoutVersion = 2

// layout is what a shard was created as: a board with another number of shards would look for users elsewhere, and one
// with another rule for ties by other names.
func layout(b *rankcore.Board) string {
	created := strconv.Itoa(layoutVersion) + ":" + strconv.Itoa(b.Shards)
	if b.Ties == rankcore.TiesFirst {
		return created + ":first"
	}
	return created
}

// prefix starts every key of a shard. The braces are a hash tag: Redis Cluster keeps these keys together,
// so that one script may touch them all.
func prefix(b *rankcore.Board, shard int) string {
	return "rank:{" + string(b.ID) + ":" + strconv.Itoa(shard) + "}:"
}

// seasonField is the field of a shard's meta that tells of a season.
func seasonField(season rankcore.SeasonID) string { return "s:" + string(season) }

// readKeys are what scripts that read a season are given.
func readKeys(b *rankcore.Board, shard int, season rankcore.SeasonID) []string {
	p := prefix(b, shard)
	keys := []string{p + "meta", p + string(season) + ":main"}
	if b.Ties == rankcore.TiesFirst {
		keys = append(keys, p+string(season)+":reached")
	}
	return keys
}

// shardKeys are what scripts that change or audit a shard are given.
func shardKeys(b *rankcore.Board, shard int) []string {
	p := prefix(b, shard)
	return []string{p + "meta", p + "index"}
}
