package journal

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"rankgate/gateway/quota"
)

// Config says where the journal is.
type Config struct {
	Path string           // of the file; its folder must be there
	Now  func() time.Time // the clock; nil: time.Now
	Log  *slog.Logger     // nil: none
}

// maxLedgers bounds the memory: about 200 bytes for each requester that asked today.
const maxLedgers = 1 << 20

// sweepEvery is how often days that are over are dropped.
const sweepEvery = time.Hour

// ErrFull: so many requesters have asked today that no more are counted. They get no exact rank.
var ErrFull = errors.New("the quota journal is full")

// Journal is a quota.Store. Safe for concurrent use.
type Journal struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	// mu guards what follows, and is held while the file is written.
	mu      sync.Mutex
	file    *os.File
	ledgers map[ledgerID]*ledger
	kept    kept
	swept   time.Time
	lines   int  // in the file
	torn    bool // the file may end within a line
}

type ledgerID struct {
	account string
	start   int64 // of the day, in Unix seconds
}

type ledger struct {
	quota.Ledger
	end int64 // of the day, in Unix seconds
}

// Open reads the journal at c.Path, if there is one, and writes it anew with what still matters.
func Open(c Config) (*Journal, error) {
	j := &Journal{path: c.Path, now: c.Now, log: c.Log, ledgers: map[ledgerID]*ledger{}}
	if j.now == nil {
		j.now = time.Now
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if err := j.load(); err != nil {
		return nil, err
	}
	j.sweep(j.now())
	if err := j.rewrite(); err != nil {
		return nil, err
	}
	return j, nil
}

// Close makes the file last and closes it. Nothing may be asked any more.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.file.Sync(), j.file.Close())
}

// Reserve is quota.Store's.
func (j *Journal) Reserve(_ context.Context, c quota.Claim) (quota.Grant, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	day, ok := quota.DayOf(now, c.Days)
	if !ok {
		return quota.Grant{}, quota.ErrClock
	}
	l, err := j.ledger(c, day, now)
	if err != nil {
		return quota.Grant{}, err
	}
	answer, known := j.kept.get(c, now)
	granted := known || l.Reserve(c.ID, c.Limit, now)
	return grant(c, day, l, now, granted, answer), nil
}

// Confirm is quota.Store's. The unit counts on the day of its reservation, which may be over by now.
func (j *Journal) Confirm(_ context.Context, c quota.Claim, answer []byte) (quota.Grant, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	day, ok := quota.DayOf(now, c.Days)
	if !ok {
		return quota.Grant{}, quota.ErrClock
	}
	first, known := j.kept.get(c, now)
	for at := day; at >= 0 && !known; at-- {
		l := j.ledgers[idOf(c, at)]
		if l == nil || !l.Confirm(c.ID, now) {
			continue
		}
		if err := j.append(idOf(c, at), l); err != nil {
			l.Spent--
			return quota.Grant{}, err
		}
		j.kept.put(c, idOf(c, at).start, answer, now)
		return grant(c, at, l, now, true, nil), nil
	}
	l, err := j.ledger(c, day, now)
	if err != nil {
		return quota.Grant{}, err
	}
	return grant(c, day, l, now, known, first), nil
}

// Release is quota.Store's.
func (j *Journal) Release(_ context.Context, c quota.Claim) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	for day := range len(c.Days) - 1 {
		id := idOf(c, day)
		l := j.ledgers[id]
		if l == nil {
			continue
		}
		if !l.Release(c.ID) && j.kept.drop(c, id.start, now) {
			l.Spent--
			if err := j.append(id, l); err != nil {
				return err
			}
		}
		if l.Used(now) == 0 {
			delete(j.ledgers, id)
		}
	}
	return nil
}

func idOf(c quota.Claim, day int) ledgerID { return ledgerID{c.Account, c.Days[day].Unix()} }

// ledger is the claim's ledger of a day, a new one where there is none; mu is held.
func (j *Journal) ledger(c quota.Claim, day int, now time.Time) (*ledger, error) {
	if now.Sub(j.swept) >= sweepEvery {
		j.sweep(now)
	}
	id := idOf(c, day)
	l := j.ledgers[id]
	if l != nil {
		return l, nil
	}
	if len(j.ledgers) >= maxLedgers {
		return nil, ErrFull
	}
	l = &ledger{end: c.Days[day+1].Unix()}
	j.ledgers[id] = l
	return l, nil
}

// sweep drops days that are over, and accounts that used nothing; mu is held.
func (j *Journal) sweep(now time.Time) {
	j.swept = now
	over := now.Add(-quota.KeptFor).Unix()
	for id, l := range j.ledgers {
		if l.end <= over || l.Used(now) == 0 {
			delete(j.ledgers, id)
		}
	}
}

func grant(c quota.Claim, day int, l *ledger, now time.Time, granted bool, answer []byte) quota.Grant {
	return quota.Grant{Granted: granted, Kept: answer, Used: l.Used(now), Now: now, Start: c.Days[day], Reset: c.Days[day+1]}
}
