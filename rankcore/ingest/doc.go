// Package ingest is the log and its applier. Log appends operations to a JetStream stream, many callers to one
// message, and acknowledges what the stream has. Applier folds one board's messages into its shards, exactly
// once whatever fails: shards know how far they have read, and every change of a shard is a compare-and-set of
// that position. Leases let several processes share that work. Auditor holds shards against themselves and against
// the log. StartServer is the log server inside this process.
//
// It never decides an order or a rank, and it keeps nothing of its own on disk: killed at any moment, it
// reads on from where the shards are. It may import rankcore and NATS.
package ingest
