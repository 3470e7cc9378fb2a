package loadtest

import (
	"errors"
	"fmt"
	"io"
	"time"

	"rankgate/rankcore"
)

// ChaosConfig is a scenario: rankgate is killed under load, again and again, and must lose nothing it has
// acknowledged, count nothing twice, and show the truth soon after.
type ChaosConfig struct {
	Binary  string        // the rankgate to hurt
	Store   string        // embedded or redis; a redis-server is started for it
	For     time.Duration // how long writes go on
	Kills   int           // kill -9 and restart, spread over that time
	Writers int           // for each board
	Batch   int
	Users   int           // of each writer
	Settle  time.Duration // how long the board may take to show the truth after the last write
	Seed    uint64
	Out     io.Writer // progress, and the logs of servers when something is wrong
}

// ChaosReport is what a scenario found. Its JSON form is stable.
type ChaosReport struct {
	Store      string   `json:"store"`
	Seed       uint64   `json:"seed"`
	Kills      int      `json:"kills"`
	Acked      int64    `json:"acknowledged"`     // operations
	Retries    int64    `json:"batches_retried"`  // sent again after no or an unsure answer
	Answers    int64    `json:"answers_watched"`  // while things failed
	Unanswered int64    `json:"reads_unanswered"` // while nobody was there
	Violations []string `json:"violations"`       // wrong answers on the way
	Settled    float64  `json:"settled_seconds"`  // from the last write to a board without differences
	Different  []string `json:"differences"`      // between the board and the oracle at the end
}

// Validate reports everything that is wrong with the scenario.
func (c *ChaosConfig) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(c.Binary == "", "binary: name the rankgate to start")
	wrong(c.Store != "embedded" && c.Store != "redis", "store: %q is not one of embedded, redis", c.Store)
	wrong(c.For <= 0, "for: %v is not positive", c.For)
	wrong(c.Settle <= 0, "settle: %v is not positive", c.Settle)
	wrong(c.Kills < 0, "kills: %d is negative", c.Kills)
	wrong(c.Writers < 1 || c.Users < 1, "writers, users: at least one of each")
	wrong(c.Batch < 1 || c.Batch > rankcore.MaxOps, "batch: %d is not within 1..%d", c.Batch, rankcore.MaxOps)
	return errors.Join(errs...)
}

// Right reports whether the scenario found nothing wrong.
func (r *ChaosReport) Right() bool { return len(r.Violations)+len(r.Different) == 0 }

// WriteText writes the report for people.
func (r *ChaosReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "store %s, seed %d: %d kills, %d operations acknowledged, %d batches sent again\n",
		r.Store, r.Seed, r.Kills, r.Acked, r.Retries)
	fmt.Fprintf(w, "%d answers watched, %d reads while nobody was there; settled %.1f s after the last write\n",
		r.Answers, r.Unanswered, r.Settled)
	for _, v := range r.Violations {
		fmt.Fprintf(w, "WRONG ON THE WAY  %s\n", v)
	}
	for _, d := range r.Different {
		fmt.Fprintf(w, "WRONG AT THE END  %s\n", d)
	}
	verdict := "nothing lost, nothing doubled"
	if !r.Right() {
		verdict = fmt.Sprintf("%d wrong answers on the way, %d differences at the end", len(r.Violations), len(r.Different))
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}
