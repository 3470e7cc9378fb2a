package plan

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// WriteText writes what a load needs for people, each figure with its formula and the constants in it.
func WriteText(w io.Writer, l Load, n Needs) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value, formula string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", name, value, fmt.Sprintf(formula, args...))
	}
	line("shards", count(n.Shards), "at most %s members in each; a power of two, %d..%d", count(ShardMembers), MinShards, MaxShards)
	line("Redis memory", bytes(n.Members), "%s users x (%d + %d bytes of id)", count(l.Users), MemberBytes, l.IDSize)
	line("  each day's season", bytes(n.Season), "%s active x the same; season `all` alone needs none", count(l.Active))
	line("  operation ids", bytes(n.IDs), "%s writes/s x %v x %d bytes", rate(l.Writes), Horizon, IDBytes)
	line("Redis CPU", cores(n.RedisCores), "writes x %v, and up to %d small steps a second to each shard of %v", RedisPerOp, StepsPerSecond, RedisSmallStep)
	line("Redis masters", count(n.Nodes), "at most %s of data and %.0f %% of a core each; as many replicas", bytes(NodeBytes), 100*Busy)
	line("log", bytes(n.Log), "writes x %v x (%d + %d bytes), on each replica", Retention, LogBytes, l.IDSize)
	line("gateways and cores", cores(n.GatewayCores), "%s reads/s x %v + writes x %v", rate(l.Reads), GatewayPerRead, CorePerOp)
	line("all embedded", bytes(n.Embedded), "instead of Redis, in one process: users x (%d + %d bytes) + ids", MemstoreBytes, l.IDSize)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nConstants were measured on 2 cores of a virtual machine (README and MEASURED.md); yours will differ. Redis needs as much\n"+
		"memory again while it forks for a snapshot under full writes.\n")
	return err
}

// count writes a number with commas between thousands.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func rate(r float64) string { return strconv.FormatFloat(r, 'f', -1, 64) }

func cores(c float64) string { return fmt.Sprintf("%.2f cores", c) }

func bytes(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	value, unit := float64(n), 0
	for value >= 999.5 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 || value >= 99.95 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
