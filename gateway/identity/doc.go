// Package identity tells who a caller is, from a signed token or from a header that a trusted proxy set.
//
// It believes nothing that is not signed, or not said by a proxy that was named. It decides nothing about what a
// caller may do. It imports nothing of ours.
package identity
