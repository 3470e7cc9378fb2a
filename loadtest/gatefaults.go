package loadtest

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// killGate kills a rankgate and starts it again at once.
func killGate(_ context.Context, t *trial) {
	i := t.rng.IntN(len(t.rig.gates))
	t.rig.gates[i].Kill()
	t.relaunch(i)
}

// freezeGate stops a rankgate's clock for a while.
func freezeGate(ctx context.Context, t *trial) {
	t.freeze(ctx, t.rig.gates[t.rng.IntN(len(t.rig.gates))], t.hold())
}

// freezeCore stops a core for longer than any lease, while another one does its work; then it goes on with what it
// was about to do.
func freezeCore(ctx context.Context, t *trial) {
	cores := t.rig.gates[1:]
	t.freeze(ctx, cores[t.rng.IntN(len(cores))], longFreeze)
}

// longFreeze is past any time after which somebody else takes over.
const longFreeze = 6 * time.Second

func (t *trial) freeze(ctx context.Context, g *Gate, d time.Duration) {
	g.Freeze()
	t.wait(ctx, d)
	g.Thaw()
}

// restoreStore kills a rankgate with an embedded store and starts it with an older copy of the store's files.
func restoreStore(ctx context.Context, t *trial) {
	g := t.rig.gates[0]
	files := filepath.Join(g.Dir(), "data", "store")
	g.Kill()
	copied := filepath.Join(t.rig.host.TempDir(), "copy")
	t.must(os.MkdirAll(files, 0o700)) // it may not have written any yet
	t.must(os.CopyFS(copied, os.DirFS(files)))
	t.relaunch(0)
	t.wait(ctx, 2*t.hold())
	g.Kill()
	t.must(os.RemoveAll(files))
	t.must(os.CopyFS(files, os.DirFS(copied)))
	t.relaunch(0)
}

// emptyStore kills a rankgate with an embedded store and takes the store's files away.
func emptyStore(_ context.Context, t *trial) {
	g := t.rig.gates[0]
	g.Kill()
	t.must(os.RemoveAll(filepath.Join(g.Dir(), "data", "store")))
	t.relaunch(0)
}

// relaunch starts a killed gate again.
func (t *trial) relaunch(i int) {
	g := t.rig.gates[i]
	g.Relaunch()
	if i == 0 { // the one that is watched
		for _, w := range t.watchers {
			w.Restarted()
		}
	}
	g.AwaitReady()
}

// hurtReplies loses replies of the servers behind proxies, makes them late, and cuts connections, all after the
// request was carried out.
func hurtReplies(ctx context.Context, t *trial) {
	for _, p := range t.rig.proxies() {
		switch t.rng.IntN(4) {
		case 0:
			p.Lose(0.02)
		case 1:
			p.Lose(0.3)
		case 2:
			p.Delay(time.Duration(1+t.rng.IntN(60)) * time.Millisecond)
		default:
			p.Lose(1)
		}
	}
	t.wait(ctx, t.hold())
	for _, p := range t.rig.proxies() {
		p.Lose(0)
		p.Delay(0)
		p.Cut()
	}
}
