package rankcore

// Merge returns the first n entries of lists that each stand in order, as one list in order.
func Merge(o Order, lists [][]Entry, n int) []Entry { return merge(o.Compare, lists, n) }

// MergeBack returns the last n entries of lists that each stand in the opposite order, the last entry first,
// as one list in that order.
func MergeBack(o Order, lists [][]Entry, n int) []Entry {
	return merge(func(a, b Entry) int { return o.Compare(b, a) }, lists, n)
}

// merge is a binary heap over the lists: n·log(len(lists)) comparisons.
func merge(compare func(a, b Entry) int, lists [][]Entry, n int) []Entry {
	heap := make([][]Entry, 0, len(lists))
	size := 0
	for _, l := range lists {
		if len(l) > 0 {
			heap = append(heap, l)
			size += len(l)
		}
	}
	before := func(i, j int) bool { return compare(heap[i][0], heap[j][0]) < 0 }
	sink := func(i int) {
		for {
			first := 2*i + 1
			if first >= len(heap) {
				return
			}
			if right := first + 1; right < len(heap) && before(right, first) {
				first = right
			}
			if !before(first, i) {
				return
			}
			heap[i], heap[first] = heap[first], heap[i]
			i = first
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(i)
	}
	merged := make([]Entry, 0, min(n, size))
	for len(merged) < n && len(heap) > 0 {
		merged = append(merged, heap[0][0])
		if heap[0] = heap[0][1:]; len(heap[0]) == 0 {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(0)
	}
	return merged
}
