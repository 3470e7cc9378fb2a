// Package players simulates the players of the demo: a few thousand names of whom some play all the time and
// most now and then, scoring over the public HTTP API like any service would.
//
// It is for looking at, not for measuring: loadtest does that. It imports nothing of ours.
package players

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"time"
)

// Count is how many players there are.
const Count = 4000

const (
	every     = 100 * time.Millisecond // between batches
	perBatch  = 20
	firstLoad = 500 // players in each of the first batches
	seed      = 1   // the same names and the same champions in every demo
)

type op struct {
	User string `json:"user"`
	Add  int64  `json:"add"`
}

// Play gives every player a first score and then lets them play until ctx ends. board is the board's URL.
// A batch that is not taken is lost, as points in a demo may be.
func Play(ctx context.Context, board string) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	random := rand.New(rand.NewPCG(seed, seed))
	names := makeNames(random)
	for i := 0; i < Count && ctx.Err() == nil; i += firstLoad {
		var ops []op
		for rank := i; rank < i+firstLoad; rank++ {
			ops = append(ops, op{names[rank], int64(200_000/math.Pow(float64(rank+1), 0.7)) + random.Int64N(50)})
		}
		post(ctx, client, board, ops)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			post(ctx, client, board, turn(random, names))
		case <-ctx.Done():
			return
		}
	}
}

// turn is what happens within one batch: the first names play most, by a power law.
func turn(random *rand.Rand, names []string) []op {
	ops := make([]op, perBatch)
	for i := range ops {
		player := int(math.Pow(float64(Count), random.Float64())) - 1
		ops[i] = op{names[player], 1 + int64(random.ExpFloat64()*200)}
	}
	return ops
}

func post(ctx context.Context, client *http.Client, board string, ops []op) {
	body, err := json.Marshal(map[string][]op{"ops": ops})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, board+"/scores", bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	resp.Body.Close()
}

var (
	manners = []string{"brave", "calm", "clever", "eager", "gentle", "happy", "jolly", "keen", "lucky", "mighty", "quick", "quiet", "rapid", "shy", "silent", "sly", "sunny", "swift", "wild", "witty"}
	animals = []string{"badger", "bear", "crane", "deer", "eagle", "falcon", "fox", "hare", "heron", "ibex", "koi", "lynx", "marten", "otter", "owl", "panda", "raven", "tiger", "wolf", "wren"}
)

func makeNames(random *rand.Rand) []string {
	names := make([]string, Count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%s-%d", manners[i%len(manners)], animals[i/len(manners)%len(animals)], i/len(manners)/len(animals)+1)
	}
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}
