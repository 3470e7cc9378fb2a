package cachetier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rankgate/rankcore"
)

// versioned is a source whose answers have a version.
type versioned struct {
	*core
	version rankcore.Position
}

func (v *versioned) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	page, err := v.core.Top(ctx, q)
	page.Version = v.version
	return page, err
}

// audited are the results of audits, by name.
func audited(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "rankgate_cachetier_audits_total" && m.GetCounter().GetValue() > 0 {
				found[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return found
}

// An answer in memory that is too old, or wrong, is found. See P54: without it nobody notices.
func TestAuditFindsWhatIsWrongInMemory(t *testing.T) {
	at := rankcore.Position{Seq: 7, Time: 7}
	for name, spoil := range map[string]func(page *rankcore.Page){
		"right": func(*rankcore.Page) {},
		"older": func(page *rankcore.Page) { page.Version.Seq-- },
		"wrong": func(page *rankcore.Page) { page.Entries = []rankcore.Entry{{Rank: 1, User: "nobody", Score: 3}} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := prometheus.NewRegistry()
				tier := newTier(t, &versioned{newCore(), at}, func(c *Config) { c.Registerer = reg })
				page := topOf(t, tier)
				a := tier.askTop(rankcore.TopQuery{Board: power, Season: "all", Limit: 1})
				kept := &entry{began: tier.clock.Add(1), at: time.Now(), page: page.With(page.Meta)}
				kept.until, kept.stale = time.Now().Add(time.Hour), time.Now().Add(time.Hour) // nobody would load it again
				spoil(kept.page)
				tier.store(a, kept)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- tier.Audit(ctx) }()
				time.Sleep(auditEvery + 2*power.Freshness)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if found := audited(t, reg); len(found) != 1 || found[name] != 1 {
					t.Errorf("found %v, want one %s", found, name)
				}
			})
		})
	}
}
