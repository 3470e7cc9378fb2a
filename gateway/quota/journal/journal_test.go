package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rankgate/gateway/quota"
	"rankgate/gateway/quota/journal"
	"rankgate/gateway/quota/quotatest"
)

// watch is a clock that the test sets.
type watch struct{ time.Time }

func (w *watch) now() time.Time { return w.Time }

func open(t *testing.T, path string, now func() time.Time) *journal.Journal {
	t.Helper()
	j, err := journal.Open(journal.Config{Path: path, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // some tests close it before
	return j
}

func TestStore(t *testing.T) {
	quotatest.Run(t, func(t *testing.T) (one, other quota.Store) {
		j := open(t, filepath.Join(t.TempDir(), "quota"), nil)
		return j, j
	})
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func claim(account, id string, now time.Time) quota.Claim {
	return quota.Claim{Account: quota.AccountOf("b", account), ID: id, Limit: 3, Days: quota.DaysAround(now, time.UTC)}
}

// spend takes n units and reports how many there were.
func spend(t *testing.T, j *journal.Journal, account string, n int, now time.Time) (got int) {
	t.Helper()
	for i := range n {
		c := claim(account, fmt.Sprint(now.UnixNano(), i), now)
		g, err := j.Reserve(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Granted {
			continue
		}
		if g, err = j.Confirm(context.Background(), c, []byte("x")); err != nil || !g.Granted {
			t.Fatalf("%+v, %v", g, err)
		}
		got++
	}
	return got
}

// A process that is killed closes nothing; what it spent is spent, and what it only held is not.
func TestARestartKeepsTheCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota")
	w := &watch{noon}
	j := open(t, path, w.now)
	if got := spend(t, j, "ann", 2, w.Time); got != 2 {
		t.Fatalf("%d units", got)
	}
	if _, err := j.Reserve(context.Background(), claim("ann", "held", w.Time)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Reserve(context.Background(), claim("bob", "held", w.Time)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each begins where the one before was left
		j = open(t, path, w.now)
	}
	if got := spend(t, j, "ann", 5, w.Time); got != 1 {
		t.Errorf("ann got %d more, want 1", got)
	}
	if got := spend(t, j, "bob", 5, w.Time); got != 3 {
		t.Errorf("bob got %d, want 3", got)
	}
	w.Time = w.Add(12 * time.Hour)
	if got := spend(t, open(t, path, w.now), "ann", 5, w.Time); got != 3 {
		t.Errorf("ann got %d the next day, want 3", got)
	}
}

// A line that was torn by a crash, or damaged, costs what it said and nothing else.
func TestABrokenLineIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota")
	j := open(t, path, (&watch{noon}).now)
	spend(t, j, "ann", 1, noon)
	spend(t, j, "bob", 1, noon)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	damaged := strings.Replace(lines[1], " 1\n", " 3\n", 1)
	for name, text := range map[string]string{
		"torn": lines[0] + lines[1][:20], "damaged": lines[0] + damaged, "foreign": lines[0] + strings.Repeat("x", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, path, (&watch{noon}).now)
			if ann, bob := spend(t, j, "ann", 5, noon.Add(time.Second)), spend(t, j, "bob", 5, noon.Add(time.Second)); ann != 2 || bob != 3 {
				t.Errorf("ann got %d and bob %d, want 2 and 3", ann, bob)
			}
			j = open(t, path, (&watch{noon}).now)
			if ann, bob := spend(t, j, "ann", 5, noon.Add(time.Minute)), spend(t, j, "bob", 5, noon.Add(time.Minute)); ann != 0 || bob != 0 {
				t.Errorf("after another restart ann got %d and bob %d", ann, bob)
			}
		})
	}
}

func TestAReservationLapses(t *testing.T) {
	w := &watch{noon}
	j := open(t, filepath.Join(t.TempDir(), "quota"), w.now)
	ctx := context.Background()
	for i := range 3 {
		if g, err := j.Reserve(ctx, claim("ann", fmt.Sprint(i), w.Time)); err != nil || !g.Granted {
			t.Fatalf("%+v, %v", g, err)
		}
	}
	w.Time = w.Add(quota.HeldFor - time.Millisecond)
	if g, _ := j.Reserve(ctx, claim("ann", "more", w.Time)); g.Granted {
		t.Error("one more than the limit is held")
	}
	w.Time = w.Add(time.Millisecond)
	if g, _ := j.Confirm(ctx, claim("ann", "0", w.Time), nil); g.Granted {
		t.Error("a reservation that has lapsed was spent")
	}
	if got := spend(t, j, "ann", 5, w.Time); got != 3 {
		t.Errorf("%d units, want 3", got)
	}
}

func TestAnAnswerIsKeptForAMinute(t *testing.T) {
	w := &watch{noon.Add(12*time.Hour - 30*time.Second)}
	j := open(t, filepath.Join(t.TempDir(), "quota"), w.now)
	ctx := context.Background()
	if _, err := j.Reserve(ctx, claim("ann", "id", w.Time)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Confirm(ctx, claim("ann", "id", w.Time), []byte("first")); err != nil {
		t.Fatal(err)
	}
	w.Time = w.Add(quota.KeptFor - time.Millisecond) // midnight has passed
	if g, err := j.Reserve(ctx, claim("ann", "id", w.Time)); err != nil || string(g.Kept) != "first" || g.Used != 0 {
		t.Errorf("%+v, %v", g, err)
	}
	w.Time = w.Add(time.Millisecond)
	if g, err := j.Reserve(ctx, claim("ann", "id", w.Time)); err != nil || g.Kept != nil || g.Used != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}

// The file does not grow with what is asked, and days that are over leave it.
func TestTheFileStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota")
	w := &watch{noon}
	j := open(t, path, w.now)
	for day := range 3 {
		for n := range 1000 {
			spend(t, j, fmt.Sprint("user", n), 1, w.Time.Add(time.Duration(day)))
		}
		w.Time = w.Add(24 * time.Hour)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, w.now)
	if text, err := os.ReadFile(path); err != nil || len(text) != 0 {
		t.Errorf("%d bytes are left, %v", len(text), err)
	}
}

// Without its file the journal gives nothing away: an error, and the unit is not spent.
func TestADiskThatFails(t *testing.T) {
	w := &watch{noon}
	j := open(t, filepath.Join(t.TempDir(), "quota"), w.now)
	c := claim("ann", "id", w.Time)
	if _, err := j.Reserve(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if g, err := j.Confirm(context.Background(), c, nil); !errors.Is(err, os.ErrClosed) || g.Granted {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err := j.Reserve(context.Background(), claim("ann", "next", w.Time)); err != nil || g.Used != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}
