// Package servers starts real servers as child processes, for tests and for the load and fault harness:
// Redis, Redis Cluster, NATS with JetStream, a NATS cluster, or any other binary.
//
// Every server listens on free loopback ports, keeps its files in a temporary folder of its test, dies with
// this process, and shows the end of its log when the test failed. It can be killed, stopped, frozen, thawed
// and started again on the same ports and files. A missing binary fails the test; nothing is skipped or faked.
// It may import the standard library only, and no client of what it starts.
package servers
