package tally

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

// model is the obvious count: a map, sorted when asked.
type model map[int64]int64

func (m model) count(key int64) (above, at int64) {
	for k, n := range m {
		if k < key {
			above += n
		}
	}
	return above, m[key]
}

func (m model) sorted() []int64 { return slices.Sorted(maps.Keys(m)) }

func (m model) total() (n int64) {
	for _, c := range m {
		n += c
	}
	return n
}

// check compares everything there is to ask.
func (m model) check(c *Counts, probes ...int64) error {
	if c.Total() != m.total() || c.Distinct() != len(m) {
		return fmt.Errorf("%d members at %d keys, want %d at %d", c.Total(), c.Distinct(), m.total(), len(m))
	}
	keys, i := m.sorted(), 0
	for key, n := range c.All {
		if i >= len(keys) || key != keys[i] || n != m[key] {
			return fmt.Errorf("key %d is %d with %d members, want %v of %v", i, key, n, keys, m)
		}
		i++
	}
	if i != len(keys) {
		return fmt.Errorf("%d keys, want %d", i, len(keys))
	}
	for _, probe := range probes {
		above, at := c.Count(probe)
		wantAbove, wantAt := m.count(probe)
		if above != wantAbove || at != wantAt || c.Above(probe) != above {
			return fmt.Errorf("at %d: %d above and %d there, want %d and %d", probe, above, at, wantAbove, wantAt)
		}
	}
	return m.checkNth(c, keys)
}

// checkNth asks for the first and the last member of each tie, and beyond the ends.
func (m model) checkNth(c *Counts, keys []int64) error {
	before := int64(0)
	for _, want := range keys {
		for _, n := range []int64{before + 1, before + m[want]} {
			if key, ok := c.Nth(n); !ok || key != want {
				return fmt.Errorf("member %d is at %d, %v, want %d", n, key, ok, want)
			}
		}
		before += m[want]
	}
	for _, n := range []int64{-1, 0, before + 1} {
		if key, ok := c.Nth(n); ok {
			return fmt.Errorf("member %d of %d is at %d", n, before, key)
		}
	}
	return nil
}

func (m model) checkSegments(c *Counts) error {
	counts := map[rankcore.Segment]int64{}
	for k, n := range m {
		counts[rankcore.SegmentOf(rankcore.Score(k))] += n
	}
	list := c.Segments()
	for i, s := range list {
		if s.Members != counts[s.Segment] || i > 0 && list[i-1].Segment >= s.Segment {
			return fmt.Errorf("segments %v, want %v", list, counts)
		}
	}
	if len(list) != len(counts) {
		return fmt.Errorf("%d segments, want %d", len(list), len(counts))
	}
	return nil
}

// checkShape fails where the tree is not as its rules say.
func checkShape(c *Counts) error {
	if c.root == nil {
		return nil
	}
	leaves, bytes := int64(0), int64(0)
	var walk func(b *branch, height int, from, to int64, root bool) error
	walk = func(b *branch, height int, from, to int64, root bool) error {
		if b.width == 0 && !root || b.width >= fan || len(b.leaves)+len(b.kids) != b.width {
			return fmt.Errorf("a branch of %d children, %d branches and %d leaves", b.width, len(b.kids), len(b.leaves))
		}
		for i := range b.width {
			lo, hi := from, to
			if i > 0 {
				lo = b.first[i]
			}
			if i+1 < b.width {
				hi = b.first[i+1]
			}
			members := int64(0)
			if height > 0 {
				if err := walk(b.kids[i], height-1, lo, hi, false); err != nil {
					return err
				}
				members = b.kids[i].members()
				if j, before := b.child(lo); j != i {
					return fmt.Errorf("key %d is looked for in child %d, not %d, behind %d members", lo, j, i, before)
				}
			} else {
				l := &b.leaves[i]
				leaves, bytes = leaves+1, bytes+int64(cap(l.data))
				if l.n == 0 || l.n > leafKeys || l.n > l.room || len(l.data) < int(l.room)*int(l.keyWidth+l.countWidth)+slack {
					return fmt.Errorf("a leaf of %d keys with room for %d", l.n, l.room)
				}
				for key, n := range func(yield func(key, n int64) bool) { l.all(yield) } {
					if members += n; key < lo || key >= hi || n <= 0 {
						return fmt.Errorf("key %d with %d members in a leaf from %d to %d", key, n, lo, hi)
					}
				}
			}
			if members != b.sums[i] {
				return fmt.Errorf("a child of %d members is said to have %d", members, b.sums[i])
			}
		}
		return nil
	}
	err := walk(c.root, c.height, -rankcore.MaxScore, rankcore.MaxScore+1, true)
	if err == nil && (leaves != c.work.leaves || bytes != c.work.bytes) {
		return fmt.Errorf("%d leaves of %d bytes are taken for %d of %d", leaves, bytes, c.work.leaves, c.work.bytes)
	}
	return err
}

// anyKey draws keys near each other, far apart, and at the ends.
func anyKey() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-40, 40), rapid.Int64Range(-100_000, 100_000),
		rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore), rapid.SampledFrom([]int64{-rankcore.MaxScore, rankcore.MaxScore}))
}

// TestCountsAgreeWithAMap: random changes, one by one and in runs of neighbouring keys, which make the tree deep,
// and take it down again.
func TestCountsAgreeWithAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c Counts
		m := model{}
		add := func(key, n int64) {
			if ok := c.Add(key, n); ok != (m[key]+n >= 0) {
				rt.Fatalf("add %d at %d, where %d are: %v", n, key, m[key], ok)
			} else if ok {
				m[key] += n
			}
			if m[key] == 0 {
				delete(m, key)
			}
		}
		var probes []int64
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			key := anyKey().Draw(rt, "key")
			probes = append(probes, key, key+1)
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				add(key, rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(1, 1<<40)).Draw(rt, "n"))
			case 1: // a run
				step := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-1<<30, 1<<30)).Draw(rt, "step")
				for range rapid.IntRange(1, 3000).Draw(rt, "length") {
					if add(key, 1); key+step < -rankcore.MaxScore || key+step > rankcore.MaxScore {
						break
					}
					key += step
				}
			case 2: // all from a key on go
				keys := m.sorted()
				for _, k := range keys[min(len(keys), rapid.IntRange(0, len(keys)).Draw(rt, "from")):] {
					add(k, -m[k])
				}
			case 3: // of every few keys one stays
				every := rapid.IntRange(2, 9).Draw(rt, "every")
				for i, k := range m.sorted() {
					if i%every > 0 {
						add(k, -m[k])
					}
				}
			}
			if err := checkShape(&c); err != nil {
				rt.Fatal(err)
			}
		}
		if err := cmp.Or(m.check(&c, probes...), m.checkSegments(&c)); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestManyLevels: keys that arrive in order leave every node half full, so that few make three levels of branches.
// They go from both ends.
func TestManyLevels(t *testing.T) {
	var c Counts
	const n = 2_200_000
	for i := range int64(n) {
		c.Add(i*5, 2)
	}
	if c.height < 2 {
		t.Errorf("%d levels of branches, want more for the test", c.height)
	}
	if err := checkShape(&c); err != nil {
		t.Fatal(err)
	}
	for i := range int64(n) {
		at := i / 2
		if i%2 > 0 {
			at = n - 1 - at
		}
		if above, there := c.Count(at * 5); there != 2 || i%2 == 0 && above != 0 || i%2 > 0 && above != (n-1-i)*2 {
			t.Fatalf("key %d: %d above, %d there, after %d of %d went", at, above, there, i, n)
		}
		if !c.Add(at*5, -2) {
			t.Fatalf("the members of key %d cannot be taken away", at)
		}
		if i == n*3/4 {
			if err := checkShape(&c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := (model{}).check(&c); err != nil || c.height != 0 {
		t.Fatalf("emptied: %v, %d levels", err, c.height)
	}
}

// FuzzCounts takes each three bytes for a change: where, and by how many.
func FuzzCounts(f *testing.F) {
	f.Add([]byte("abcabdabe"))
	f.Add([]byte{0, 0, 1, 0, 0, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Counts
		m := model{}
		for ; len(data) >= 3; data = data[3:] {
			key, n := int64(int8(data[0]))<<(data[1]%46), int64(int8(data[2]))
			if ok := c.Add(key, n); ok != (m[key]+n >= 0) {
				t.Fatalf("add %d at %d, where %d are: %v", n, key, m[key], ok)
			} else if !ok {
				continue
			}
			if m[key] += n; m[key] == 0 {
				delete(m, key)
			}
		}
		if err := cmp.Or(checkShape(&c), m.check(&c, 0, 1, -1), m.checkSegments(&c)); err != nil {
			t.Fatal(err)
		}
	})
}
