//go:build long

package redisstore_test

import "testing"

func TestAMillionRanksByTheIndexAreASort(t *testing.T) { ranksAreASort(t, 1_000_000, 256) }
