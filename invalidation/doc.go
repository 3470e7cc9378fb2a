// Package invalidation says over NATS what changed on a board, and hears it on every gateway.
//
// The Announcer publishes changes and beacons; the Listener evicts what they name and notices when a
// message was missed. Delivery is at most once by design: sources number what they send, and whoever
// misses a number, or hears nothing, suspects its whole cache. A lost message costs freshness, never
// correctness. It never blocks the applier and reads no scores. It may import rankcore and nats.go.
package invalidation
