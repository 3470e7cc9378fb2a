package memstore

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// TestSeasonAgainstSort holds members and tree against a sorted slice, through growing, churning and
// shrinking, with frozen copies taken on the way that must stay what they were.
func TestSeasonAgainstSort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{
			t: rt, rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), seed: maphash.MakeSeed(),
			season: newSeason(rapid.SampledFrom([]rankcore.Order{rankcore.Desc, rankcore.Asc}).Draw(rt, "order"),
				rapid.SampledFrom([]rankcore.Ties{rankcore.TiesShared, rankcore.TiesFirst}).Draw(rt, "ties"), rankcore.All, 0),
			scores: map[rankcore.UserID]reached{},
			spread: rapid.SampledFrom([]int64{1, 3, 1000, 1 << 40}).Draw(rt, "spread"), // few scores: ties throughout
		}
		newWhole().join("all", w.season)
		for range rapid.IntRange(1, 4).Draw(rt, "phases") {
			users := rapid.SampledFrom([]int{1, 50, 500, 9000}).Draw(rt, "users")
			enter := rapid.SampledFrom([]int{5, 50, 90}).Draw(rt, "enter in 100")
			for range rapid.SampledFrom([]int{10, 300, 20000}).Draw(rt, "steps") {
				w.step(users, enter)
			}
			w.check()
			w.freeze()
		}
		w.thaw()
	})
}

// TestSeasonEmptied: a season whose members all leave is as good as new, and gives back its arena.
func TestSeasonEmptied(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{t: rt, rand: rand.New(rand.NewPCG(1, 2)), seed: maphash.MakeSeed(), season: newSeason(rankcore.Desc, rankcore.TiesFirst, rankcore.All, 0), scores: map[rankcore.UserID]reached{}, spread: 50}
		newWhole().join("all", w.season)
		n := rapid.SampledFrom([]int{0, 1, 84, 85, 12000}).Draw(rt, "members")
		for i := range n {
			w.put(userN(i), rankcore.Score(i%50))
		}
		w.check()
		for i := range n {
			w.leave(userN(i))
		}
		w.check()
		if n == 12000 && len(w.season.arena.chunks) > 2 {
			rt.Fatalf("%d chunks are kept for nobody", len(w.season.arena.chunks))
		}
		w.put("again", 1)
		w.check()
	})
}

func userN(i int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("user-%06d", i)) }

// walk changes a season at random and remembers what it must hold.
type walk struct {
	t      *rapid.T
	rand   *rand.Rand
	seed   maphash.Seed
	season *season
	scores map[rankcore.UserID]reached
	spread int64
	puts   int
	frozen []frozenWalk
}

type frozenWalk struct {
	tree tree
	want []rankcore.Entry
}

func (w *walk) hash(u rankcore.UserID) uint32 { return uint32(maphash.String(w.seed, string(u))) }

func (w *walk) step(users, enter int) {
	u := userN(w.rand.IntN(users))
	if w.rand.IntN(100) < enter {
		w.put(u, rankcore.Score(w.rand.Int64N(2*w.spread)-w.spread))
	} else {
		w.leave(u)
	}
}

func (w *walk) put(u rankcore.UserID, s rankcore.Score) {
	at := reached{score: s}
	if w.season.ties == rankcore.TiesFirst {
		w.puts++
		at.arrival = rankcore.Arrival(w.puts - w.puts%3) // some arrive together, as after a log lost its tail
	}
	if _, ok := w.scores[u]; ok {
		w.season.move(w.season.ref(w.hash(u), u), at)
	} else {
		w.season.enter(w.hash(u), u, at)
	}
	w.scores[u] = at
}

func (w *walk) leave(u rankcore.UserID) {
	want, had := w.scores[u]
	if got, ok := w.season.leave(w.hash(u), u); ok != had || got != want {
		w.t.Fatalf("%q left: %+v, %v; want %+v, %v", u, got, ok, want, had)
	}
	delete(w.scores, u)
}

func (w *walk) sorted() []rankcore.Entry {
	rows := make([]rankcore.Entry, 0, len(w.scores))
	for u, s := range w.scores {
		rows = append(rows, rankcore.Entry{User: u, Score: s.score, Arrival: s.arrival})
	}
	slices.SortFunc(rows, w.season.order.Compare)
	return rows
}

func (w *walk) check() {
	want := w.sorted()
	checkTree(w.t, &w.season.ranked, w.season.order, want)
	if w.season.byName.used != len(want) {
		w.t.Fatalf("%d names, want %d", w.season.byName.used, len(want))
	}
	for range min(len(want), 200) {
		row := want[w.rand.IntN(len(want))]
		if at, ok := w.season.reached(w.hash(row.User), row.User); !ok || at != (reached{row.Score, row.Arrival}) {
			w.t.Fatalf("%q: %+v, %v; want %+v", row.User, at, ok, row)
		}
		key := w.season.order.Key(row.Score)
		for _, k := range []int64{key, key + 1, key + w.rand.Int64N(2*w.spread)} {
			if got, want := w.season.all.counts.Above(k), w.below(want, k); got != want {
				w.t.Fatalf("%d below %d, want %d", got, k, want)
			}
		}
	}
	if _, ok := w.season.reached(w.hash("nobody"), "nobody"); ok {
		w.t.Fatal("nobody is ranked")
	}
}

// below counts the rows, which are in order, with a smaller key.
func (w *walk) below(rows []rankcore.Entry, key int64) int64 {
	i, _ := slices.BinarySearchFunc(rows, key, func(e rankcore.Entry, k int64) int { return cmp.Compare(w.season.order.Key(e.Score), k) })
	return int64(i)
}

func (w *walk) freeze() {
	names := w.season.arena.freeze()
	w.frozen = append(w.frozen, frozenWalk{w.season.ranked.freeze(&names), w.sorted()})
}

// thaw checks that what was frozen did not move.
func (w *walk) thaw() {
	for i := range w.frozen {
		checkTree(w.t, &w.frozen[i].tree, w.season.order, w.frozen[i].want)
	}
}

// checkTree holds a tree's rows, sizes and shape against the rows wanted.
func checkTree(t *rapid.T, tr *tree, o rankcore.Order, want []rankcore.Entry) {
	if got := tr.entries(o, nil, 0, len(want)+1, math.MinInt64, math.MaxInt64); tr.size != len(want) || !slices.Equal(got, want) {
		t.Fatalf("size %d, %d rows, want %d rows in order", tr.size, len(got), len(want))
	}
	if skip := len(want) / 3; len(want) > 0 {
		if got := tr.entries(o, nil, skip, 5, math.MinInt64, math.MaxInt64); !slices.Equal(got, want[skip:min(skip+5, len(want))]) {
			t.Fatalf("5 rows from %d: %v, want %v", skip, got, want[skip:min(skip+5, len(want))])
		}
	}
	if tr.root != (node{}) {
		checkNode(t, tr.root)
	}
}

// checkNode checks the counts below a node, and that none is empty or an only child.
func checkNode(t *rapid.T, at node) (depth int) {
	if at.inner == nil {
		return 1
	}
	n := at.inner
	if n.n < 2 {
		t.Fatalf("an inner node with %d subtrees", n.n)
	}
	for i := range int(n.n) {
		if n.counts[i] != n.kids[i].count() || n.counts[i] == 0 {
			t.Fatalf("subtree %d of %d: counted %d, holds %d", i, n.n, n.counts[i], n.kids[i].count())
		}
		if d := checkNode(t, n.kids[i]); depth != 0 && d != depth {
			t.Fatalf("subtrees of depth %d and %d", depth, d)
		} else {
			depth = d
		}
	}
	return depth + 1
}
