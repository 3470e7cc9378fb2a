package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// LeaseBucket is the key-value bucket of the leases. It is kept in memory: what it says is worth nothing after a
// restart of its server.
const LeaseBucket = "RANKGATE_LEASES"

const leaseMaxBytes = 1 << 20

// errTaken: the lease is not at the revision it was expected at.
var errTaken = errors.New("somebody else changed the lease")

// leaseStore keeps who holds which lease. A revision names one change of one lease, so that a change can be made
// only to what was seen.
type leaseStore struct {
	js       jetstream.JetStream
	replicas int
	bucket   atomic.Pointer[jetstream.KeyValue]
}

// leaseEntry is a lease as the store has it.
type leaseEntry struct {
	revision uint64 // 0: it was never held
	holder   string // empty: nobody holds it
}

// open returns the bucket and makes it where it is missing. After a failure it is looked for again: it is gone when
// its server was restarted.
func (s *leaseStore) open(ctx context.Context) (jetstream.KeyValue, error) {
	if kv := s.bucket.Load(); kv != nil {
		return *kv, nil
	}
	kv, err := s.js.KeyValue(ctx, LeaseBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: LeaseBucket, Description: "rankgate: which core applies which board",
			Storage: jetstream.MemoryStorage, Replicas: s.replicas, MaxBytes: leaseMaxBytes,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open the leases: %w", err)
	}
	s.bucket.Store(&kv)
	return kv, nil
}

func (s *leaseStore) get(ctx context.Context, key string) (leaseEntry, error) {
	kv, err := s.open(ctx)
	if err != nil {
		return leaseEntry{}, err
	}
	e, err := kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return leaseEntry{}, nil
	case err != nil:
		s.bucket.Store(nil)
		return leaseEntry{}, fmt.Errorf("read a lease: %w", err)
	}
	return leaseEntry{revision: e.Revision(), holder: string(e.Value())}, nil
}

// set changes the holder of a lease that is still at revision was, and returns its new one. It fails with
// errTaken when it is at another.
func (s *leaseStore) set(ctx context.Context, key, holder string, was uint64) (uint64, error) {
	kv, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	is, err := kv.Update(ctx, key, []byte(holder), was)
	switch {
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return 0, errTaken
	case err != nil:
		s.bucket.Store(nil)
		return 0, fmt.Errorf("write a lease: %w", err)
	}
	return is, nil
}
