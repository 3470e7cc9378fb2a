// Package storetest is what every store must do, and every layer stacked on one: the same suite runs on
// the Redis store, on the in-process store, and on the whole read path over them.
//
// It holds answers against an obvious model: maps, and a sort for every question.
// It may import rankcore and testing libraries.
package storetest
