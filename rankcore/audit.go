package rankcore

// DriftKind is in what a shard differs from its members or from the log, or the count index from the shards.
type DriftKind uint8

// The kinds of drift.
const (
	DriftSegments DriftKind = iota // segment counts differ from the members in them
	DriftDamage                    // the shard is not whole: a part is missing, or members, hidden users or ids differ from their counts
	DriftPosition                  // the log does not have the message that the shard stands at
	DriftBehind                    // the log has messages that the shard should have taken in long ago
	DriftIndex                     // the count index differs from what the shards count together
	numDriftKinds
)

// NumDriftKinds is how many kinds of drift there are; they are numbered from 0.
const NumDriftKinds = int(numDriftKinds)

var driftKinds = []string{
	DriftSegments: "segments", DriftDamage: "damage", DriftPosition: "position", DriftBehind: "behind", DriftIndex: "index",
}

func (k DriftKind) String() string { return nameOf(driftKinds, k) }

// MarshalText writes the kind's name.
func (k DriftKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Drift is one finding of an audit.
type Drift struct {
	Kind     DriftKind
	Season   SeasonID // of DriftSegments and DriftIndex; empty where the whole shard is meant
	Recorded int64    // what the shard or the index says: members in the differing segments, or the sequence it stands at
	Counted  int64    // what there is: members in these segments, or the sequence it should have reached
	Detail   string   // for the operator; names no host and no key
	Repaired bool
}

// AllShards stands for a shard where a finding is about all of them together.
const AllShards = -1

// Audit is what an audit of one shard compared and found. Scores themselves are not compared with the log: that
// takes reading it from the start.
type Audit struct {
	Shard    int      // or AllShards
	At       Position // where the shard stands; none when it is not whole
	Members  int64    // over all seasons
	Segments int      // recounted, over all seasons
	Drift    []Drift
}

// Damaged reports whether the shard was found not to be whole.
func (a *Audit) Damaged() bool {
	for i := range a.Drift {
		if a.Drift[i].Kind == DriftDamage && !a.Drift[i].Repaired {
			return true
		}
	}
	return false
}
