package ingest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	reviveEvery = 2 * time.Second
	// reviveRoom is how much the disk has to take before the streams are opened again: less is soon used up.
	reviveRoom = 1 << 20
)

// writeError is how the server says that a stream takes nothing any more. There is nothing else to tell by: it answers
// no append from then on, and everything else as before, until its streams are opened anew.
const writeError = "Critical write error"

// failed passes on an error, each sort of it once in a row: a stream that is broken says so for every append.
func (l serverLogger) failed(text string) {
	if !strings.Contains(text, writeError) {
		l.to.Error(text)
	} else if !l.broken.Swap(true) {
		l.to.Error("the log's disk takes nothing; make room, and it goes on by itself", "cause", text)
	}
}

// Run opens the streams again when the disk had been full and takes something again, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	tick := time.NewTicker(reviveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !s.broken.Load() || s.takes() != nil {
			continue
		}
		if err := s.reopen(); err != nil {
			s.log.Error("the log could not be opened again", "err", err)
			continue
		}
		s.log.Info("the log's disk takes something again, and the log was opened again")
	}
}

// Broken reports whether the disk takes nothing, so that appends go unanswered.
func (s *Server) Broken() bool { return s.broken.Load() }

// takes fails when the disk has no room.
func (s *Server) takes() error {
	path := filepath.Join(s.opts.StoreDir, "room")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	_, err = f.Write(bytes.Repeat([]byte{1}, reviveRoom))
	return errors.Join(err, f.Sync(), f.Close())
}

// reopen closes the streams and opens them from their files, as a restart does: what was confirmed is there.
func (s *Server) reopen() error {
	if err := s.nats.ShutdownJetStream(); err != nil {
		return err
	}
	s.broken.Store(false)
	return s.nats.EnableJetStream(&server.JetStreamConfig{
		StoreDir: s.opts.StoreDir, SyncInterval: s.opts.SyncInterval, SyncAlways: s.opts.SyncAlways, Strict: !s.opts.NoJetStreamStrict,
		MaxMemory: s.opts.JetStreamMaxMemory, MaxStore: s.opts.JetStreamMaxStore, CompressOK: true,
	})
}
