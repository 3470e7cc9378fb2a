package invalidation

import (
	"errors"

	"rankgate/rankcore"
)

// reached is how a broadcast says where shards are: by position, a set of shards, of which shard i is bit i%8 of byte i/8.
type reached map[string][]byte

var errReached = errors.New("more shards than a board can have")

func encodeReached(list []rankcore.Reached) reached {
	if len(list) == 0 {
		return nil
	}
	told := make(reached, len(list))
	for _, r := range list {
		var set []byte
		for _, shard := range r.Shards {
			for len(set) <= shard/8 {
				set = append(set, 0)
			}
			set[shard/8] |= 1 << (shard % 8)
		}
		told[r.At.String()] = set
	}
	return told
}

func (told reached) list() (list []rankcore.Reached, err error) {
	for at, set := range told {
		r := rankcore.Reached{}
		if r.At, err = rankcore.ParsePosition(at); err != nil {
			return nil, err
		}
		if len(set) > rankcore.MaxShards/8 {
			return nil, errReached
		}
		for shard := range 8 * len(set) {
			if set[shard/8]&(1<<(shard%8)) != 0 {
				r.Shards = append(r.Shards, shard)
			}
		}
		list = append(list, r)
	}
	return list, nil
}
