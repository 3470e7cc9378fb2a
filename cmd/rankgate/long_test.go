//go:build long

package main

import (
	"testing"
	"time"
)

// A minute is longer than servers and clients wait for one another.
func TestTheBoundHoldsForMinutes(t *testing.T) { boundHolds(t, time.Minute) }

func TestAMillionRandomIDsTakeNoRoom(t *testing.T) { randomIDsTakeNoRoom(t, 1_000_000) }
