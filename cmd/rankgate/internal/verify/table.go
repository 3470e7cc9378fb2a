package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// WriteTable writes what drifts, the count index first, then by shard, and the shards that could not be audited. Neighbours of which the same is
// to be said share a row. It writes nothing when there are none.
func WriteTable(w io.Writer, found []Finding) error {
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Compare(a.shard(), b.shard()) })
	var rows []row
	for _, f := range found {
		for _, text := range f.rows() {
			if i := slices.IndexFunc(rows, func(r row) bool { return r.last >= 0 && r.last == f.shard()-1 && r.text == text }); i >= 0 {
				rows[i].last = f.shard()
				continue
			}
			rows = append(rows, row{f.shard(), f.shard(), text})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SHARD\tDRIFT\tSEASON\tRECORDED\tCOUNTED\tSTATE\tDETAIL")
	for _, r := range rows {
		shards := strconv.Itoa(r.first)
		switch {
		case r.first == allShards:
			shards = "all"
		case r.last > r.first:
			shards += "-" + strconv.Itoa(r.last)
		}
		fmt.Fprintf(table, "%s\t%s\n", shards, r.text)
	}
	return table.Flush()
}

// allShards is what a finding about the index is about.
const allShards = -1

func (f Finding) shard() int {
	if f.Shard == nil {
		return allShards
	}
	return *f.Shard
}

// row is what is said of the shards from first to last.
type row struct {
	first, last int
	text        string
}

// rows are what the table says of a finding, without its shard.
func (f Finding) rows() (texts []string) {
	for _, d := range f.Drift {
		state := "found"
		if d.Repaired {
			state = "repaired"
		}
		texts = append(texts, fmt.Sprintf("%s\t%s\t%d\t%d\t%s\t%s", d.Kind, cmp.Or(d.Season, "-"), d.Recorded, d.Counted, state, d.Detail))
	}
	if f.Error != "" {
		texts = append(texts, "-\t-\t-\t-\tnot audited\t"+f.Error)
	}
	return texts
}

// Err is what the command ends with: nil when every shard was audited and none drifts, repaired or not.
func (v Verdict) Err() error {
	switch {
	case !v.Done:
		return fmt.Errorf("not every shard was audited: %s", cmp.Or(v.Detail, "the server does not say why"))
	case v.Failed > 0:
		return fmt.Errorf("%d shards could not be audited", v.Failed)
	case v.Findings > v.Repaired:
		return fmt.Errorf("%d findings of drift, %d of them repaired", v.Findings, v.Repaired)
	case v.Findings > 0:
		return fmt.Errorf("%d findings of drift, all repaired: verify again to be sure", v.Findings)
	}
	return nil
}
