package loadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"rankgate/rankcore"
)

// inTime is how soon an answer must come to be of use, from when its question was meant to be asked.
const inTime = time.Second

// crowdBoard is a board of so many users that an answer in memory is seldom asked for again while it is fresh.
func crowdBoard() *rankcore.Board {
	return &rankcore.Board{
		ID: "crowd", Order: rankcore.Desc, Update: rankcore.UpdateSet, Shards: 32, Seasons: []rankcore.SeasonKind{rankcore.All},
		Location: time.UTC, Head: 100, Dedupe: 10 * time.Minute, Freshness: time.Second,
	}
}

func crowdUser(i int) rankcore.UserID { return rankcore.UserID(fmt.Sprintf("crowd-%07d", i)) }

// crowd asks for the ranks of random users of a board that stands still, and counts what it gets, second by second.
type crowd struct {
	board  *rankcore.Board
	client *Client
	asOf   []atomic.Int64 // by user, of the newest answer; Unix nanoseconds

	start time.Time // of the count

	mu         sync.Mutex // guards all below
	seconds    []OutageSecond
	violations []string
}

func newCrowd(b *rankcore.Board, c *Client, users int) *crowd {
	return &crowd{board: b, client: c, asOf: make([]atomic.Int64, users), start: time.Now()}
}

// fill writes the board and returns when it is there.
func (c *crowd) fill(ctx context.Context) error {
	users := len(c.asOf)
	for from := 0; from < users; from += rankcore.MaxOps {
		ops := make([]rankcore.Op, min(rankcore.MaxOps, users-from))
		for i := range ops {
			u := from + i
			ops[i] = rankcore.Op{ID: fmt.Sprint(u), User: crowdUser(u), Kind: rankcore.OpSet, Value: rankcore.Score(u)}
		}
		if err := c.client.Send(ctx, c.board, ops); err != nil {
			return err
		}
	}
	for {
		// The last to be ranked exactly is ranked so when its counts are ready, too.
		s, err := c.client.Rank(ctx, rankcore.RankQuery{Board: c.board, Season: "all", User: crowdUser(0)})
		if err == nil && s.Status == rankcore.Fresh && s.Rank == int64(users) && s.Precision == rankcore.Exact {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("filling board %s: %w, at last %+v, %w", c.board.ID, ctx.Err(), s, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// most is how many fresh answers a second so many readers get who ask again as soon as they are answered.
func (c *crowd) most(ctx context.Context, readers int, length time.Duration, seed uint64) float64 {
	c.begin()
	var asking sync.WaitGroup
	for i := range readers {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		asking.Go(func() {
			for time.Since(c.start) < length && ctx.Err() == nil {
				c.ask(ctx, rng, time.Now())
			}
		})
	}
	asking.Wait()
	var fresh float64
	list := c.counted()
	list = list[min(1, len(list)):] // the first second opens connections
	for _, s := range list {
		fresh += float64(s.Fresh)
	}
	return fresh / (length - time.Second).Seconds()
}

// load asks at a rate, whatever the answers do. What cannot be asked in time, because all readers wait, is not asked: whoever
// wanted to know has left.
func (c *crowd) load(ctx context.Context, rate float64, length time.Duration, readers int, seed uint64) (late int64) {
	c.begin()
	p := &pace{start: c.start, rate: rate, length: length, workers: readers}
	rngs := make([]*rand.Rand, readers)
	for i := range rngs {
		rngs[i] = rand.New(rand.NewPCG(seed, uint64(i)))
	}
	p.run(ctx, func(worker int, intended time.Time) {
		if time.Since(intended) > inTime {
			c.count(intended, func(s *OutageSecond) { s.Late++ })
			return
		}
		c.ask(ctx, rngs[worker], intended)
	})
	return p.late.Load()
}

func (c *crowd) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start, c.seconds = time.Now(), nil
}

// counted are the seconds so far.
func (c *crowd) counted() []OutageSecond {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]OutageSecond(nil), c.seconds...)
}

// ask asks for one rank.
func (c *crowd) ask(ctx context.Context, rng *rand.Rand, intended time.Time) {
	i := rng.IntN(len(c.asOf))
	before, asked := c.asOf[i].Load(), time.Now()
	a, err := c.client.call(ctx, "GET", "/v1/boards/"+string(c.board.ID)+"/users/"+string(crowdUser(i))+"/rank", nil)
	if err != nil && ctx.Err() != nil {
		return // never sent
	}
	status, wrong := c.judge(i, a, err, before, asked)
	took := time.Since(intended)

	c.count(intended, func(s *OutageSecond) {
		switch {
		case wrong != "" && len(c.violations) < mostViolations:
			c.violations = append(c.violations, time.Now().Format("15:04:05.000 ")+wrong)
		case err != nil:
			s.Unanswered++
		case took > inTime:
			s.Late++
		case status == rankcore.Updating:
			s.Updating++
		case status == rankcore.Fresh:
			s.Fresh++
			s.Shown++
		default:
			s.Shown++
		}
	})
}

// count counts a question that was meant to be asked at the time. It holds mu.
func (c *crowd) count(intended time.Time, as func(*OutageSecond)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := int(intended.Sub(c.start) / time.Second)
	for len(c.seconds) <= at {
		c.seconds = append(c.seconds, OutageSecond{})
	}
	c.seconds[at].Asked++
	as(&c.seconds[at])
}

// judge says what an answer is, and what is wrong with it, or "".
func (c *crowd) judge(i int, a answer, err error, before int64, asked time.Time) (status rankcore.Status, wrong string) {
	if err != nil {
		return "", ""
	}
	status = rankcore.Status(textField(a.body, "status"))
	if a.status != 200 || status == "" {
		return "", fmt.Sprintf("%s is answered %d: %.200s", crowdUser(i), a.status, a.body)
	}
	if status == rankcore.Updating {
		return status, ""
	}
	asOf, err := time.Parse(time.RFC3339Nano, textField(a.body, "as_of"))
	if err != nil {
		return status, fmt.Sprintf("as_of of %s: %v", crowdUser(i), err)
	}
	n := asOf.UnixNano()
	if n < before {
		return status, fmt.Sprintf("%s of %s is as of %v after an answer as of %v", status, crowdUser(i), asOf, time.Unix(0, before).UTC())
	}
	for newest := c.asOf[i].Load(); newest < n && !c.asOf[i].CompareAndSwap(newest, n); {
		newest = c.asOf[i].Load()
	}
	if age := asked.Truncate(time.Millisecond).Sub(asOf); status == rankcore.Fresh && age > c.board.Freshness {
		return status, fmt.Sprintf("%s is fresh as of %v before it was asked for", crowdUser(i), age)
	}
	return status, ""
}

// textField is the text of a body's first field of a name, or "". It is found by search, since decoding every
// body would load the machine more than the server does; a user id cannot fake it, as its quotes are escaped.
func textField(body []byte, name string) string {
	_, text, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	text, _, found := bytes.Cut(text, []byte(`"`))
	if !found {
		return ""
	}
	return string(text)
}

// errNothing: a load without a single fresh answer tells nothing.
var errNothing = errors.New("not one fresh answer before the outage")
