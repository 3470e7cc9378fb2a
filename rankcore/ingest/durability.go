package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// durabilityEvery is how often an external server is asked whether it syncs.
	durabilityEvery = 30 * time.Second
	// monitorPort is where nats-servers usually answer about themselves.
	monitorPort = "8222"
)

// durability finds out what an acknowledgement of the log's server survives. NATS does not tell its clients
// whether it syncs, so an external server counts as OS unless its monitoring endpoint says otherwise, and
// shows by its id that it is the server we are connected to.
type durability struct {
	log    *Log
	known  atomic.Pointer[Durability]
	asked  time.Time // upkeep's, as is links
	links  uint64
	client http.Client
}

func newDurability(l *Log) *durability {
	d := &durability{log: l, client: http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	is := OS
	if d.embedded() && l.cfg.Durability == FSync {
		is = FSync
	}
	d.known.Store(&is)
	return d
}

// embedded reports whether the server is in this process, so that its owner knows what it does.
func (d *durability) embedded() bool { return d.log.cfg.Conn.Opts.InProcessServer != nil }

// look asks an external server again, now and then and after every reconnect.
func (d *durability) look(ctx context.Context) {
	links := d.log.stream.reconnects()
	if d.embedded() || time.Since(d.asked) < durabilityEvery && links == d.links {
		return
	}
	d.asked, d.links = time.Now(), links
	is := OS
	if err := d.prove(ctx); err == nil {
		is = FSync
	} else if was := *d.known.Load(); was != is {
		d.log.cfg.Logger.Warn("the log's server no longer shows that it syncs what it confirms", "because", err)
	} else {
		d.log.cfg.Logger.Debug("the log's server does not show that it syncs what it confirms", "because", err)
	}
	d.known.Store(&is)
}

// prove fails unless as many servers as keep the log say that they sync, the connected one among them.
func (d *durability) prove(ctx context.Context) error {
	conn := d.log.cfg.Conn
	monitors := d.log.cfg.Monitors
	if len(monitors) == 0 {
		at, err := url.Parse(conn.ConnectedUrl())
		if err != nil || at.Hostname() == "" {
			return errors.New("no monitoring endpoint is known")
		}
		monitors = []string{"http://" + net.JoinHostPort(at.Hostname(), monitorPort)}
	}
	syncing := map[string]bool{}
	for _, m := range monitors {
		id, syncs, err := d.ask(ctx, m)
		switch {
		case err != nil:
			return err
		case !syncs:
			return fmt.Errorf("%s does not sync always", m)
		}
		syncing[id] = true
	}
	if v := d.log.seen.Load(); !syncing[conn.ConnectedServerId()] || v == nil || len(syncing) < v.replicas {
		return errors.New("not every server that keeps the log is among the monitored ones")
	}
	return nil
}

// ask reads who a server is and whether its JetStream syncs every write.
func (d *durability) ask(ctx context.Context, monitor string) (id string, syncs bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+"/varz", nil)
	if err != nil {
		return "", false, err
	}
	answer, err := d.client.Do(req)
	if err != nil {
		return "", false, err
	}
	defer answer.Body.Close()
	var varz struct {
		ID        string `json:"server_id"`
		JetStream struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&varz); err != nil {
		return "", false, err
	}
	return varz.ID, varz.JetStream.Config.SyncAlways, nil
}
