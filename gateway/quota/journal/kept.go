package journal

import (
	"time"

	"rankgate/gateway/quota"
)

// maxKeptBytes bounds the answers that are remembered, and keptOverhead is what one costs beside itself.
const (
	maxKeptBytes = 32 << 20
	keptOverhead = 200
)

// kept are the requests that were confirmed in the last minute, with the answers they left. When they grow
// beyond the bound the oldest are forgotten: a repetition then costs a unit. The zero value is empty.
type kept struct {
	byID  map[keptID]keptAnswer
	order []keptID // oldest first; an id that was dropped and confirmed anew stands twice
	bytes int
}

type keptID struct{ account, request string }

type keptAnswer struct {
	answer []byte
	start  int64 // of the day that paid, in Unix seconds
	until  time.Time
}

func (k *kept) get(c quota.Claim, now time.Time) (answer []byte, known bool) {
	k.forget(now)
	a, known := k.byID[keptID{c.Account, c.ID}]
	return a.answer, known
}

func (k *kept) put(c quota.Claim, start int64, answer []byte, now time.Time) {
	if k.byID == nil {
		k.byID = map[keptID]keptAnswer{}
	}
	id := keptID{c.Account, c.ID}
	k.byID[id] = keptAnswer{answer, start, now.Add(quota.KeptFor)}
	k.order = append(k.order, id)
	k.bytes += len(answer) + keptOverhead
	k.forget(now)
}

// drop forgets a request that a day paid for, and reports whether there was one.
func (k *kept) drop(c quota.Claim, start int64, now time.Time) bool {
	k.forget(now)
	id := keptID{c.Account, c.ID}
	a, known := k.byID[id]
	if !known || a.start != start {
		return false
	}
	k.remove(id, a)
	return true
}

func (k *kept) remove(id keptID, a keptAnswer) {
	delete(k.byID, id)
	k.bytes -= len(a.answer) + keptOverhead
}

// forget drops what is old, and the oldest while there is too much.
func (k *kept) forget(now time.Time) {
	for len(k.order) > 0 {
		id := k.order[0]
		if a, known := k.byID[id]; known {
			if k.bytes <= maxKeptBytes && now.Before(a.until) {
				return
			}
			k.remove(id, a)
		}
		k.order = k.order[1:]
	}
}
