package loadtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"rankgate/loadtest/servers"
)

// killLog kills the log's server. What it acknowledged was synced.
func killLog(ctx context.Context, t *trial) {
	t.rig.nats.Kill()
	t.wait(ctx, t.hold())
	t.rig.nats.Restart()
}

// freezeLog stops the log server's clock.
func freezeLog(ctx context.Context, t *trial) {
	t.rig.nats.Freeze()
	t.wait(ctx, t.hold())
	t.rig.nats.Thaw()
}

// killLogPeer kills one of three; the others elect a leader and go on.
func killLogPeer(ctx context.Context, t *trial) {
	peer := t.logPeer()
	peer.Kill()
	t.wait(ctx, t.hold())
	peer.Restart()
}

// freezeLogPeer freezes one of three, which may still think that it leads when it is thawed.
func freezeLogPeer(ctx context.Context, t *trial) {
	peer := t.logPeer()
	peer.Freeze()
	t.wait(ctx, 2*t.hold())
	peer.Thaw()
	peer.AwaitReady()
}

func (t *trial) logPeer() *servers.NATSServer {
	peers := t.rig.natsCluster.Nodes
	return peers[t.rng.IntN(len(peers))]
}

// restoreLogAtRest puts an older copy of the log back after the shards have taken in everything it had. Then
// nothing is lost for the boards, and all of it must still be there, and count once.
func restoreLogAtRest(ctx context.Context, t *trial) {
	copied := t.copyLog()
	t.resume()
	t.wait(ctx, t.hold())
	t.pause()
	defer t.resume()
	before := t.losses()
	if !t.settled(ctx) {
		return // judge will tell
	}
	t.rig.nats.Kill()
	t.putBack(copied)
	t.rig.nats.Restart()
	t.awaitLoss(before)
}

// restoreLog puts an older copy of the log back under load. What shards had taken in must stay, what is acknowledged
// afterwards must count; of what was acknowledged in between, the newest operations may be missing.
func restoreLog(ctx context.Context, t *trial) {
	copied := t.copyLog()
	doubts := t.suspect() // nobody has written since the copy
	t.resume()
	t.wait(ctx, t.hold())
	before := t.losses()
	floors := t.levels(ctx)
	t.rig.nats.Kill()
	t.putBack(copied)
	t.wait(ctx, t.hold()) // acknowledgements under way arrive
	for _, d := range doubts {
		d.Cut()
	}
	t.rig.nats.Restart()
	t.pause()
	defer t.resume()
	t.awaitLoss(before)
	t.reconcile(ctx, doubts, floors)
}

// copyLog copies the log's files while nobody writes and its server is down, and leaves the writers paused.
func (t *trial) copyLog() string {
	t.pause()
	t.rig.nats.Stop()
	copied := filepath.Join(t.rig.host.TempDir(), "copy")
	t.must(os.CopyFS(copied, os.DirFS(t.rig.nats.StoreDir)))
	t.rig.nats.Restart()
	return copied
}

func (t *trial) putBack(copied string) {
	t.must(os.RemoveAll(t.rig.nats.StoreDir))
	t.must(os.CopyFS(t.rig.nats.StoreDir, os.DirFS(copied)))
}

// losses is how often the gates have noticed that the log lost something.
func (t *trial) losses() (n float64) {
	for _, g := range t.rig.gates {
		n += g.metric("rankgate_ingest_lost_records_total") + g.metric("rankgate_ingest_rebases_total")
	}
	return n
}

// awaitLoss waits until the loss is counted, and told by every gate's readiness.
func (t *trial) awaitLoss(before float64) {
	t.rig.await("the loss of the log's tail to be counted", func() error {
		if t.losses() <= before {
			return fmt.Errorf("still %v", before)
		}
		return nil
	})
	for _, g := range t.rig.gates {
		t.rig.await(g.URL+"/readyz to tell of the loss", func() error { return g.tells("the log has lost operations") })
	}
}
