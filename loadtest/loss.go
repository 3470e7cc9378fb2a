package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rankgate/rankcore"
)

// settled reports whether the boards come to show what their oracles say; else it is noted.
func (t *trial) settled(ctx context.Context) bool {
	different := t.compare(ctx, rankcore.Exact)
	t.report.Different = append(t.report.Different, different...)
	return len(different) == 0
}

// suspect starts a doubt on every board.
func (t *trial) suspect() []*Doubt {
	doubts := make([]*Doubt, len(t.writers))
	for i, w := range t.writers {
		w.Ledger.Doubt()
		doubts[i] = w.Oracle.Suspect()
	}
	return doubts
}

// levels are the scores of the probes as the boards show them. Probes only rise, so these must stay.
func (t *trial) levels(ctx context.Context) map[*Writers][]rankcore.Score {
	seen := map[*Writers][]rankcore.Score{}
	for _, w := range t.writers {
		for i := range w.Count {
			q := rankcore.RankQuery{Board: w.Workload.Board, Season: "all", User: probeOf(i)}
			s, err := t.client.Rank(ctx, q)
			if err != nil || s.Status == rankcore.Updating {
				s = &rankcore.Standing{Score: -rankcore.MaxScore}
			}
			seen[w] = append(seen[w], s.Score)
		}
	}
	return seen
}

// reconcile asks what the boards show of every user with operations in doubt. Some of them may be lost, from the
// last one backwards, and nothing else. Writers are paused, and do not send ids in doubt again.
func (t *trial) reconcile(ctx context.Context, doubts []*Doubt, floors map[*Writers][]rankcore.Score) {
	t.forget = true
	t.wait(ctx, 2*t.rig.gates[0].Boards[0].Freshness) // answers called fresh then have what was acknowledged
	for i, w := range t.writers {
		lost, errs := t.explain(ctx, w, doubts[i])
		for _, err := range errs {
			t.report.Different = append(t.report.Different, fmt.Sprintf("%s: %v", w.Workload.Board.ID, err))
		}
		doubts[i].End()
		t.report.Lost += int64(lost)
	}
	now := t.levels(ctx)
	for w, floor := range floors {
		for i, level := range floor {
			if now[w][i] < level {
				t.report.Different = append(t.report.Different, fmt.Sprintf("%s: a shard had taken in %d for %s, and now has %d",
					w.Workload.Board.ID, level, probeOf(i), now[w][i]))
			}
		}
	}
}

// explain settles the doubt for every user, and tries again until the time to settle is over as long as a user cannot be
// explained: the board may be catching up. A user who is shown nowhere may be hidden with any score, and is removed.
func (t *trial) explain(ctx context.Context, w *Writers, d *Doubt) (lost int, errs []error) {
	var seasons []rankcore.SeasonID
	for _, s := range w.Oracle.Standings(time.Now(), expiryMargin) {
		seasons = append(seasons, s.Season)
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Settle)
	defer cancel()
	var unseen []rankcore.Op
	for _, u := range d.Users() {
		for {
			shown, err := t.shown(ctx, w.Workload.Board, u, seasons)
			n := 0
			if err == nil {
				n, err = d.Settle(u, shown, seasons)
			}
			if err == nil {
				lost += n
				if len(shown) == 0 {
					unseen = append(unseen, rankcore.Op{User: u, Kind: rankcore.OpRemove})
				}
				break
			}
			if t.wait(ctx, 50*time.Millisecond); ctx.Err() != nil {
				errs = append(errs, err)
				break
			}
		}
	}
	if len(unseen) > 0 {
		if err := t.client.Send(context.WithoutCancel(ctx), w.Workload.Board, unseen); err != nil {
			errs = append(errs, err)
		}
		for _, op := range unseen {
			w.Oracle.Apply(op, time.Now())
		}
	}
	return lost, errs
}

// shown is what the board shows of a user, when all of it is fresh.
func (t *trial) shown(ctx context.Context, b *rankcore.Board, u rankcore.UserID, seasons []rankcore.SeasonID) (Shown, error) {
	shown := Shown{}
	for _, season := range seasons {
		s, err := t.client.Rank(ctx, rankcore.RankQuery{Board: b, Season: season, User: u, Precision: rankcore.Exact})
		switch {
		case errors.Is(err, rankcore.ErrNotRanked):
		case err != nil:
			return nil, err
		case s.Status != rankcore.Fresh:
			return nil, fmt.Errorf("%q in %s is %v, because of %v", u, season, s.Status, s.Reason)
		default:
			shown[season] = s.Score
		}
	}
	return shown, nil
}
