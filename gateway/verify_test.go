package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"rankgate/rankcore"
)

// Verify tells of every shard of a board; shard 2 drifts, and is mended when that is asked for.
func (c *core) Verify(ctx context.Context, b *rankcore.Board, repair bool, each func(rankcore.Audit, error)) error {
	for shard := range b.Shards {
		a := rankcore.Audit{Shard: shard, At: rankcore.Position{Seq: 7, Time: 9}, Members: 10, Segments: 3}
		if shard == 2 {
			a.Drift = []rankcore.Drift{{Kind: rankcore.DriftSegments, Season: "all", Recorded: 4, Counted: 5, Detail: "1 segment", Repaired: repair}}
		}
		if c.audited != nil {
			c.audited(shard)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.down != nil && shard == 1 {
			each(rankcore.Audit{Shard: shard}, c.down)
			continue
		}
		each(a, nil)
	}
	if c.down != nil {
		return c.down
	}
	return nil
}

func (c *core) AcceptLoss(context.Context, *rankcore.Board) (int, error) { return 3, c.down }

// The answer is a line for each shard and a last one that sums up, as the document says.
func TestVerify(t *testing.T) {
	e := newEdge(t, nil)
	doc, _ := openAPI(t, e)
	for name, c := range map[string]struct {
		query, verdict string
		down           error
	}{
		"look":        {"", `{"done":true,"shards":4,"failed":0,"members":40,"findings":1,"repaired":0}`, nil},
		"repair":      {"?repair=true", `{"done":true,"shards":4,"failed":0,"members":40,"findings":1,"repaired":1}`, nil},
		"accept loss": {"?repair=true&accept_loss=true", `{"done":true,"shards":4,"failed":0,"members":40,"findings":1,"repaired":1,"accepted":3}`, nil},
		"the store fails": {
			"?repair=false", `{"done":false,"shards":3,"failed":1,"members":30,"findings":1,"repaired":0,"detail":"the log could not be asked, or the verification was ended"}`,
			errors.New("secret host"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			e.down = c.down
			r := e.call("POST", "/v1/boards/power/verify"+c.query, "").want(200)
			if got := r.header.Get("Content-Type"); got != "application/x-ndjson" {
				t.Errorf("Content-Type: %s", got)
			}
			if strings.Contains(r.body, "secret") {
				t.Errorf("a cause is shown: %s", r.body)
			}
			lines := strings.Split(strings.TrimSpace(r.body), "\n")
			if len(lines) != 5 || lines[4] != c.verdict {
				t.Fatalf("%s", r.body)
			}
			for i, line := range lines {
				var v any
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatal(err)
				}
				schema := "Finding"
				if i == 4 {
					schema = "Verdict"
				}
				if err := doc.Components.Schemas[schema].Value.VisitJSON(v); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		})
	}
	e.down = nil
	e.call("POST", "/v1/boards/power/verify?repair=yes", "").problem(badRequest)
	e.call("POST", "/v1/boards/power/verify?accept_loss=true", "").problem(badRequest)
	e.call("POST", "/v1/boards/power/verify", `{"repair":true}`).problem(badRequest)
	e.call("POST", "/v1/boards/nothing/verify", "").problem(unknownBoard)
	e.call("GET", "/v1/boards/power/verify", "").problem(wrongMethod)
}

// A board is verified once at a time, and a gateway that stops does not wait for it to end.
func TestVerifyEndsWithTheGateway(t *testing.T) {
	e := newEdge(t, nil)
	begun, goOn := make(chan struct{}), make(chan struct{})
	e.audited = func(shard int) {
		if shard == 1 {
			close(begun)
			<-goOn
		}
	}
	c := dial(t, e.serve())
	c.send("POST /v1/boards/power/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	<-begun
	e.call("POST", "/v1/boards/power/verify", "").problem(verifyRunning)
	e.endWaits()
	close(goOn)
	r := c.reply().want(200)
	if !strings.Contains(r.body, `"done":false,"shards":1`) {
		t.Error(r.body)
	}
}

// Who may not write may not verify.
func TestVerifyNeedsTheKey(t *testing.T) {
	sum := sha256.Sum256([]byte("key"))
	e := newEdge(t, func(c *Config) {
		c.Auth.Service = ServiceAuth{Mode: ModeKeys, Keys: []ServiceKey{{"ops", hex.EncodeToString(sum[:])}}}
	})
	e.call("POST", "/v1/boards/power/verify", "").problem(unauthorized)
	e.call("POST", "/v1/boards/power/verify", "", "Authorization", "Bearer key").want(200)
}
