package memstore

import "rankgate/rankcore"

// warmFrom is how many members a season of a shard has before this is worth while: smaller ones stay near the processor.
const warmFrom = 1 << 12

// warmth is what warm needs to go on from one round to the next.
type warmth struct {
	refs []uint32
	keys []int64
	at   []node
	sum  int64 // of what was read, so that it is read
}

// warm reads what a step is about to look for and change, for all its operations at once. At millions of members most of
// a step's time goes by waiting for memory, and one operation after the other each read depends on the one before;
// here those of one round do not, so that they wait together. It decides nothing and changes nothing else.
func (s *shard) warm(ops []rankcore.PlacedOp, ready []prepared) {
	for _, se := range s.seasons {
		if len(ops) > 1 && se.ranked.size >= warmFrom {
			s.warmth.season(se, ops, ready)
		}
	}
}

// season warms one season: the slots of the users, their records, and the leaves that they leave and enter.
func (w *warmth) season(se *season, ops []rankcore.PlacedOp, ready []prepared) {
	w.refs, w.keys, w.at = w.refs[:0], w.keys[:0], w.at[:0]
	for i := range ready {
		w.refs = append(w.refs, se.byName.first(ready[i].hash))
	}
	for i, ref := range w.refs {
		old := rankcore.Score(0)
		if ref != 0 {
			old = se.arena.score(ref)
			w.keys = append(w.keys, se.order.Key(old))
		}
		switch op := &ops[i]; {
		case op.Kind == rankcore.OpAdd:
			w.keys = append(w.keys, se.order.Key(old+op.Value))
		case op.Kind.HasValue():
			w.keys = append(w.keys, se.order.Key(op.Value))
		}
	}
	w.descend(&se.ranked)
	for i, at := range w.at {
		w.sum += int64(smaller(at.leaf.keys[:at.leaf.n], w.keys[i])) + int64(at.leaf.refs[0])
	}
}

// descend goes down to the leaves of all keys, level by level.
func (w *warmth) descend(t *tree) {
	for range w.keys {
		w.at = append(w.at, t.root)
	}
	for len(w.at) > 0 && w.at[0].inner != nil { // all leaves are as deep
		for i, at := range w.at {
			n := at.inner
			w.at[i] = n.kids[smaller(n.keys[1:n.n], w.keys[i])]
		}
	}
}
