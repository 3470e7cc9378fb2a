package ingest

import (
	"time"

	"rankgate/rankcore"
)

// ApplierStatus is what an applier is doing now.
type ApplierStatus struct {
	StandsBy bool              // another process applies the board, as far as is known; nothing else is then
	Cursor   rankcore.Position // the last message read
	CaughtUp time.Time         // when it last had everything the log has; zero: not yet
	Shards   map[string]int    // shards by state: following, ahead, catching_up, unknown, rebuild_needed
	Rebuild  int               // of these, shards the log no longer reaches back to
	LogLost  bool              // some shard may lack operations that the log lost
}

// Status reports what was last known; it asks nobody.
func (a *Applier) Status() ApplierStatus { return *a.status.Load() }

// standBy forgets what was known of the shards, and tells nobody of them any more.
func (a *Applier) standBy() {
	if a.lease == nil {
		return
	}
	clear(a.main.shards)
	a.main.cursor, a.ended, a.caughtUp = rankcore.Position{}, false, time.Time{}
	for s := range a.metrics.shards {
		a.metrics.shards[s].Set(0)
	}
	a.metrics.lag.Set(0)
	a.announce.Withdraw(a.board.ID)
	a.status.Store(&ApplierStatus{StandsBy: true})
}

// tell publishes the state: to the edges, to readyz and to the metrics.
func (a *Applier) tell() {
	st := ApplierStatus{Cursor: a.main.cursor, CaughtUp: a.caughtUp, Shards: make(map[string]int, numStates)}
	var n [numStates]int
	for s := range a.main.shards {
		n[a.main.shards[s].state]++
		st.LogLost = st.LogLost || a.main.shards[s].flag
	}
	for s, n := range n {
		a.metrics.shards[s].Set(float64(n))
		if n > 0 {
			st.Shards[state(s).String()] = n
		}
	}
	st.Rebuild = n[rebuild]
	a.status.Store(&st)
	a.announce.Progress(rankcore.Progress{
		Board: a.board.ID, Applied: a.main.cursor, CaughtUp: a.caughtUp,
		ShardsOut: len(a.main.shards) - n[following], Rebuild: n[rebuild], LogLost: st.LogLost,
	})
}

func (a *Applier) inState(want state) int {
	n := 0
	for s := range a.main.shards {
		if a.main.shards[s].state == want {
			n++
		}
	}
	return n
}
