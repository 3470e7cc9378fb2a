package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// WriteTable writes what drifts, by shard, and the shards that could not be audited. It writes nothing when there
// are none.
func WriteTable(w io.Writer, found []Finding) error {
	found = slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return len(f.Drift) == 0 && f.Error == "" })
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Compare(a.Shard, b.Shard) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SHARD\tDRIFT\tSEASON\tRECORDED\tCOUNTED\tSTATE\tDETAIL")
	for _, f := range found {
		for _, d := range f.Drift {
			state := "found"
			if d.Repaired {
				state = "repaired"
			}
			fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%d\t%s\t%s\n", f.Shard, d.Kind, cmp.Or(d.Season, "-"), d.Recorded, d.Counted, state, d.Detail)
		}
		if f.Error != "" {
			fmt.Fprintf(table, "%d\t-\t-\t-\t-\tnot audited\t%s\n", f.Shard, f.Error)
		}
	}
	return table.Flush()
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
