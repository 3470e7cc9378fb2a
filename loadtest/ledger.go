package loadtest

import (
	"sync"
	"time"

	"rankgate/rankcore"
)

// Ledger knows between which bounds the score of a probe must stand at any moment: a probe is a user with one
// writer, who only ever raises its score. Safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex // guards all below
	accounts map[rankcore.UserID]*account
	doubtful bool // no floor can be told any more
}

type account struct {
	sent  int64        // the level of the newest operation sent, acknowledged or not
	acked []ackedLevel // by time
}

type ackedLevel struct {
	level int64
	at    time.Time
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{accounts: map[rankcore.UserID]*account{}} }

func (l *Ledger) account(u rankcore.UserID) *account {
	if l.accounts[u] == nil {
		l.accounts[u] = &account{}
	}
	return l.accounts[u]
}

// Sent notes, before it is sent, that an operation will raise the probe to level.
func (l *Ledger) Sent(u rankcore.UserID, level int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(u).sent = level
}

// Acked notes that the newest operation sent was acknowledged by the time at.
func (l *Ledger) Acked(u rankcore.UserID, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(u)
	a.acked = append(a.acked, ackedLevel{a.sent, at})
}

// Doubt tells that operations acknowledged may be lost, so that no floor is known from now on.
func (l *Ledger) Doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubtful = true
}

// Floor is the highest level acknowledged before t; ok is false if there is none, or a doubt.
func (l *Ledger) Floor(u rankcore.UserID, t time.Time) (level int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doubtful {
		return 0, false
	}
	acked := l.account(u).acked
	for i := len(acked) - 1; i >= 0; i-- {
		if acked[i].at.Before(t) {
			return acked[i].level, true
		}
	}
	return 0, false
}

// Ceiling is the highest level ever sent: no answer may show more.
func (l *Ledger) Ceiling(u rankcore.UserID) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.account(u).sent
}
