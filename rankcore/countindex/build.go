package countindex

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"rankgate/rankcore"
)

// Source is the store that an index is built from.
type Source interface {
	// Counts reads how many members stand at each key of shards, each at the position it is expected at.
	Counts(ctx context.Context, b *rankcore.Board, asked []rankcore.CountsQuery) []rankcore.Counts
}

const (
	// atOnce is how many shards are scanned side by side: a part of each keeps a node of the store busy for less than a
	// millisecond. It then has a rest of half as long as the question took, of which reading the answers was a good part.
	atOnce   = 4
	mostRest = 50 * time.Millisecond
	// futile is how many rounds in a row may bring nothing, as shards do not answer or change all the time.
	futile = 200

	firstPause = 100 * time.Millisecond // from one failed building to the next; doubled each time, with as much again at random
	mostPause  = time.Minute

	tellEvery = 10 * time.Second // how far a building is
)

// Run builds the index of each board and does so again whenever it turns out not to hold, until ctx ends. It waits for
// a board until its steps pass through here.
func (x *Index) Run(ctx context.Context, source Source) error {
	done := make(chan struct{})
	for _, b := range x.boards {
		go func() {
			defer func() { done <- struct{}{} }()
			x.keep(ctx, b, source)
		}()
	}
	for range x.boards {
		<-done
	}
	return nil
}

// keep builds one board's index over and over.
func (x *Index) keep(ctx context.Context, b *board, source Source) {
	pause := firstPause
	for {
		if !b.waitFor(ctx, func() bool { return time.Now().Before(b.until) }) {
			return
		}
		err := x.build(ctx, b, source)
		if err == nil {
			st := x.State(b.ID)
			x.log.Info("the count index is ready", "board", string(b.ID), "members", st.Members, "scores", st.Scores, "took", st.Took.Round(time.Millisecond).String())
			x.metrics.builds.WithLabelValues(string(b.ID)).Inc()
			began := time.Now()
			if !b.waitFor(ctx, func() bool { return b.broken != "" }) {
				return
			}
			if time.Since(began) > mostPause {
				pause = firstPause
			}
			err = errors.New(x.State(b.ID).Why)
		}
		if ctx.Err() != nil {
			return
		}
		x.log.Warn("the count index is built anew; until then ranks are counted on the shards", "board", string(b.ID), "because", err, "in", pause.String())
		select {
		case <-time.After(pause + rand.N(pause)):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, mostPause)
	}
}

// waitFor waits until something is so, and is false when ctx ended first. is runs under the board's lock.
func (b *board) waitFor(ctx context.Context, is func() bool) bool {
	for {
		b.mu.RLock()
		ok, news := is(), b.news
		b.mu.RUnlock()
		if ok {
			return true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

// build counts all shards from the beginning. One board at a time.
func (x *Index) build(ctx context.Context, b *board, source Source) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.turn }()
	b.mu.Lock()
	b.clear()
	b.began = time.Now()
	b.mu.Unlock()
	without, told := 0, b.began
	for {
		asked := b.open()
		if len(asked) == 0 {
			break
		}
		began := time.Now()
		answers := source.Counts(ctx, b.Board, asked)
		took := time.Since(began)
		got, err := b.take(asked, answers)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			st := x.State(b.ID)
			x.log.Info("the count index is being built", "board", string(b.ID), "members", st.Members, "shards", st.Scanned, "of", b.Shards)
		}
		rest := min(took/2, mostRest)
		if got > 0 {
			without = 0
		} else if without++; without > futile {
			return fmt.Errorf("shards cannot be counted: %w", err)
		} else {
			rest = mostRest
		}
		if err := b.pause(ctx, rest, got == 0); err != nil {
			return err
		}
	}
	return b.complete()
}

// pause rests between two questions to the shards, and ends early for news where the last question brought nothing: the step
// that is to come may be why. It fails when the building has to begin anew.
func (b *board) pause(ctx context.Context, rest time.Duration, forNews bool) error {
	b.mu.RLock()
	broken, news := b.broken, b.news
	b.mu.RUnlock()
	if broken != "" {
		return errors.New(broken)
	}
	if !forNews {
		news = nil
	}
	select {
	case <-news:
	case <-time.After(rest):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// complete has the index answer from now on, where it still holds.
func (b *board) complete() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != "" {
		return errors.New(b.broken)
	}
	b.ready, b.took = true, time.Since(b.began)
	b.tell()
	return nil
}

// open are the next questions to shards that are not counted whole.
func (b *board) open() (asked []rankcore.CountsQuery) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for shard := range b.parts {
		p := &b.parts[shard]
		if p.whole() {
			continue
		}
		q := rankcore.CountsQuery{Shard: shard, At: p.at, After: rankcore.NoKey}
		for id, upTo := range p.todo {
			q.Season, q.After = id, upTo
			break
		}
		if asked = append(asked, q); len(asked) == atOnce {
			break
		}
	}
	return asked
}

var errElsewhere = errors.New("they change all the time")

// take counts what shards answered, where a shard was exactly where the index has it: what it has of this shard and
// what comes now are then of one moment. It tells how many answers were of use, and what was wrong with another one.
func (b *board) take(asked []rankcore.CountsQuery, answers []rankcore.Counts) (got int, err error) {
	for i := range answers {
		if answers[i].Err != nil {
			err = answers[i].Err
			continue
		}
		if b.takeOne(&asked[i], &answers[i]) {
			got++
		} else if err == nil {
			err = errElsewhere
		}
	}
	return got, err
}

func (b *board) takeOne(q *rankcore.CountsQuery, c *rankcore.Counts) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.parts[q.Shard]
	if p.at != c.At || p.at != q.At {
		return false
	}
	if q.Season == "" {
		p.listed, p.todo = true, map[rankcore.SeasonID]int64{}
		for _, id := range c.Seasons {
			if !b.retired[id] {
				p.todo[id] = rankcore.NoKey
			}
		}
		return true
	}
	if upTo, open := p.todo[q.Season]; !open || upTo != q.After {
		return false
	}
	s := b.season(q.Season)
	for _, k := range c.Counts {
		s.add(q.Shard, k.Key, k.Count)
		p.todo[q.Season] = k.Key
	}
	s.changed[q.Shard] = c.Changed
	s.version = rankcore.Newer(s.version, c.Changed)
	if c.Ended {
		delete(p.todo, q.Season)
	}
	return true
}
