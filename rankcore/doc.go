// Package rankcore holds the words of ranking and its pure rules: boards, scores, order, ranks, segments,
// seasons, operations, log positions, and Reader, the one contract that stores, guards and caches share.
//
// It decides; it never waits, stores, or talks to anything. Whoever calls brings the clock.
// It may import the standard library and xxhash, nothing else.
package rankcore
