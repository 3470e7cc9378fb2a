// Package verify asks a running rankgate to audit a board and shows what it found.
//
// It compares nothing itself and repairs nothing. It may import rankgate's remote and nothing else of ours.
package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"rankgate/cmd/rankgate/internal/remote"
)

const (
	answerWithin = 15 * time.Second // for the header of the answer
	silence      = time.Minute      // that the server may keep between two lines
	maxRefusal   = 64 << 10         // bytes read of an answer that is no success
)

var errSilent = errors.New("the server stopped talking")

// Options say what is verified.
type Options struct {
	Server string // such as http://127.0.0.1:8080
	Board  string
	Key    string // service credential; "" for none
	Repair bool

	AcceptLoss bool // with Repair: shards the log no longer reaches back to go on with what it has
}

// Finding is what the server says of one shard, or of the count index.
type Finding struct {
	Shard *int // nil: the index
	Drift []Drift
	Error string // the shard could not be audited
}

// Drift is one thing in which a shard or the index differs.
type Drift struct {
	Kind, Season      string
	Recorded, Counted int64
	Detail            string
	Repaired          bool
}

// Verdict sums up.
type Verdict struct {
	Done               bool // every shard was looked at
	Shards, Failed     int
	Members            int64
	Findings, Repaired int
	Accepted           int // shards that go on without what the log no longer has
	Detail             string
}

// Ask has the board audited and hands each finding on as it arrives. An error means that there is no verdict.
func Ask(ctx context.Context, o Options, each func(Finding)) (Verdict, error) {
	board, err := remote.BoardURL(o.Server, o.Board)
	if err != nil {
		return Verdict{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	question := fmt.Sprintf("%s/verify?repair=%t", board, o.Repair)
	if o.AcceptLoss {
		question += "&accept_loss=true"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, question, http.NoBody)
	if err != nil {
		return Verdict{}, err
	}
	if o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+o.Key)
	}
	transport := &http.Transport{ResponseHeaderTimeout: answerWithin, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return Verdict{}, fmt.Errorf("no rankgate answers at %s: %w", o.Server, remote.Cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		if err != nil {
			return Verdict{}, err
		}
		return Verdict{}, remote.Refusal(resp.StatusCode, body)
	}
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	v, err := read(resp.Body, func(f Finding) {
		watch.Reset(silence)
		each(f)
	})
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return v, err
}

// read reads the lines of an answer. The last one, and no other, says whether it is done.
func read(body io.Reader, each func(Finding)) (Verdict, error) {
	for lines := json.NewDecoder(body); ; {
		var line json.RawMessage
		var last struct {
			Verdict
			Done *bool
		}
		if err := lines.Decode(&line); err != nil {
			return Verdict{}, fmt.Errorf("the answer was cut off: %w", err)
		}
		if err := json.Unmarshal(line, &last); err != nil {
			return Verdict{}, fmt.Errorf("a line of the answer is not understood: %w", err)
		}
		if last.Done != nil {
			last.Verdict.Done = *last.Done
			return last.Verdict, nil
		}
		var f Finding
		if err := json.Unmarshal(line, &f); err != nil {
			return Verdict{}, fmt.Errorf("a line of the answer is not understood: %w", err)
		}
		each(f)
	}
}
