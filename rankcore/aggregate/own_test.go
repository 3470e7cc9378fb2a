package aggregate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rankgate/rankcore"
)

// shards is a store whose top counts its readings, each of which takes a while.
type shards struct {
	rankcore.Reader
	reads atomic.Int64
}

func (s *shards) Top(_ context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	asked := time.Now()
	n := s.reads.Add(1)
	<-time.After(5 * time.Millisecond)
	page := &rankcore.Page{Meta: rankcore.Meta{Season: q.Season, Status: rankcore.Fresh, AsOf: asked, Version: rankcore.Position{Seq: uint64(n)}}}
	for i := range 20 {
		page.Entries = append(page.Entries, rankcore.Entry{Rank: int64(i + 1), User: rankcore.UserID(rune('a' + i)), Score: rankcore.Score(100 - i)})
	}
	page.Entries = page.Entries[:min(q.Limit, 20)]
	page.Total = 20
	return page, nil
}

// alone is a client whose core is not asked for a long time.
func alone(s *shards, sharing int64) *Client {
	c := NewClient(ClientConfig{Boards: []*rankcore.Board{power}, Shards: "model", Source: s, Progress: current{}})
	b := c.boards["power"]
	b.rest.until.Store(time.Now().Add(time.Hour).UnixNano())
	b.sharing.Store(sharing)
	return c
}

// While the core is no help the shards are merged for each gateway, in however many lengths it is asked for; and the
// more gateways there are, the less often for each: together no more than half as often as the core may. What is called
// fresh is within the bound, and no reader sees as_of go back.
func TestWithoutTheCoreMergesAreBounded(t *testing.T) {
	for _, gateways := range []int{1, 3, 30} {
		synctest.Test(t, func(t *testing.T) {
			s := &shards{}
			const length = 6 * time.Second
			end := time.Now().Add(length)
			var readers sync.WaitGroup
			var fresh atomic.Int64
			for range gateways {
				c := alone(s, int64(gateways))
				for _, limit := range []int{0, 1, 10, 100} {
					readers.Go(func() {
						var last time.Time
						for time.Now().Before(end) {
							<-time.After(20 * time.Millisecond)
							page, err := c.Top(t.Context(), rankcore.TopQuery{Board: power, Season: "all", Limit: limit})
							if err != nil {
								if !errors.Is(err, rankcore.ErrBusy) || gateways < 5 {
									t.Errorf("%d gateways, limit %d: %v", gateways, limit, err)
								}
								continue
							}
							fresh.Add(1)
							had := page.Current
							if had.IsZero() { // read for this question
								had = page.AsOf
							}
							if age := time.Since(had); age > power.Freshness || len(page.Entries) != min(limit, 20) {
								t.Errorf("%d rows, called fresh after %v", len(page.Entries), age)
							}
							if page.AsOf.Before(last) {
								t.Errorf("as of %v after %v", page.AsOf, last)
							}
							last = page.AsOf
						}
					})
				}
			}
			readers.Wait()
			most := int64(length/(2*DefaultEvery)) + int64(gateways) // all of them begin at once
			if n := s.reads.Load(); n > most || n < int64(length/(4*DefaultEvery)) {
				t.Errorf("%d gateways: %d merges in %v, want up to %d", gateways, n, length, most)
			}
			if t.Logf("%d gateways: %d merges, %d fresh answers", gateways, s.reads.Load(), fresh.Load()); fresh.Load() == 0 {
				t.Error("nothing was fresh")
			}
		})
	}
}

// Rows that must have been read after a moment are, when that is due soon; else the answer is left to who has older
// ones to show.
func TestOwnRowsAreReadAfterWhatTheyMustHave(t *testing.T) {
	for sharing, want := range map[int64]error{1: nil, 10: rankcore.ErrBusy} {
		synctest.Test(t, func(t *testing.T) {
			s := &shards{}
			c := alone(s, sharing)
			top := rankcore.TopQuery{Board: power, Season: "all", Limit: 3}
			if _, err := c.Top(t.Context(), top); err != nil {
				t.Fatal(err)
			}
			<-time.After(2*DefaultEvery - dueWithin)
			top.Since = time.Now()
			page, err := c.Top(t.Context(), top)
			if !errors.Is(err, want) {
				t.Fatalf("sharing with %d: %v, want %v", sharing, err, want)
			}
			if err == nil && (page.AsOf.Before(top.Since) || s.reads.Load() != 2) {
				t.Errorf("as of %v, wanted after %v; %d readings", page.AsOf, top.Since, s.reads.Load())
			}
		})
	}
}

// What the core has answered meanwhile is newer than what was read here before.
func TestOwnRowsAreNotGivenAfterNewerOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := alone(&shards{}, 3)
		top := rankcore.TopQuery{Board: power, Season: "all", Limit: 3}
		if _, err := c.Top(t.Context(), top); err != nil {
			t.Fatal(err)
		}
		c.boards["power"].saw("all", rankcore.Position{Seq: 9}, time.Now())
		if page, err := c.Top(t.Context(), top); !errors.Is(err, rankcore.ErrBusy) {
			t.Fatalf("%+v, %v", page, err)
		}
	})
}

func TestAskersAreCounted(t *testing.T) {
	var a askers
	now := time.Now()
	for i, id := range []string{"west", "east", "west"} {
		if n := a.count(id, now); n != min(i+1, 2) {
			t.Errorf("%d askers after %d questions", n, i+1)
		}
	}
	if n := a.count("north", now.Add(askerKept+time.Second)); n != 1 {
		t.Errorf("%d askers when two have left", n)
	}
	for i := range 2 * maxAskers {
		if n := a.count(string(rune(i+0x4e00)), now.Add(askerKept+time.Second)); n > maxAskers {
			t.Fatalf("%d askers", n)
		}
	}
}

// sick is a store that does not answer until it is well.
type sick struct {
	*shards
	well atomic.Bool
}

func (s *sick) Top(ctx context.Context, q rankcore.TopQuery) (*rankcore.Page, error) {
	if !s.well.Load() {
		s.reads.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.shards.Top(ctx, q)
}

// What failed for one is not handed to others as long as the next may not be read: they would take shards that are well
// again for sick.
func TestFailuresAreNotHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sick{shards: &shards{}}
		c := alone(s.shards, 10)
		c.Reader = s
		top := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := c.Top(ctx, rankcore.TopQuery{Board: power, Season: "all", Limit: 3})
			return err
		}
		if err := top(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		s.well.Store(true)
		synctest.Wait()
		if err := top(); !errors.Is(err, rankcore.ErrBusy) {
			t.Fatalf("right behind a failure: %v", err)
		}
		<-time.After(DefaultEvery)
		if err := top(); err != nil || s.reads.Load() != 2 {
			t.Fatalf("%v, %d readings", err, s.reads.Load())
		}
	})
}
