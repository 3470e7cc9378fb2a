package redisstore

import (
	"strconv"
	"strings"

	"rankgate/rankcore"
)

// layoutVersion changes when the shape of keys or values does.
const layoutVersion = 4

// fixed are the settings that a shard is created with, in the order in which its layout names them. With another one
// users would be looked for elsewhere, or their scores be others, or stand in other places.
var fixed = []string{"shards", "order", "update", "scale", "ties"}

// layout is what a shard was created as: the version and the values of the fixed settings. The scripts look at its end.
func layout(b *rankcore.Board) string {
	return strings.Join([]string{
		strconv.Itoa(layoutVersion), strconv.Itoa(b.Shards), b.Order.String(), b.Update.String(), strconv.Itoa(b.Scale), b.Ties.String(),
	}, ":")
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
