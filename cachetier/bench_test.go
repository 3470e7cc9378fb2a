package cachetier

import (
	"fmt"
	"testing"

	"rankgate/rankcore"
)

// BenchmarkTopHit is a cached page of 100 rows, as almost every request asks for.
func BenchmarkTopHit(b *testing.B) {
	tier, err := New(Config{Source: newCore(), Progress: &applier{}})
	if err != nil {
		b.Fatal(err)
	}
	defer tier.Close()
	query := rankcore.TopQuery{Board: power, Season: "all", Limit: 100}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tier.Top(b.Context(), query); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRankHit is cached standings of 10,000 rotating users.
func BenchmarkRankHit(b *testing.B) {
	tier, err := New(Config{Source: newCore(), Progress: &applier{}})
	if err != nil {
		b.Fatal(err)
	}
	defer tier.Close()
	queries := make([]rankcore.RankQuery, 10_000)
	for i := range queries {
		queries[i] = rankcore.RankQuery{Board: power, Season: "all", User: rankcore.UserID(fmt.Sprintf("user%d", i))}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := tier.Rank(b.Context(), queries[i%len(queries)]); err != nil {
			b.Fatal(err)
		}
	}
}
