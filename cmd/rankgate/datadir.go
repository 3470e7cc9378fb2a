package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockData makes the data folder when it is missing and takes it for this process, until unlock. The lock is the
// kernel's, so it ends with the process however that ends; its file stays, or removing it could take it from
// the next holder.
func lockData(path string) (unlock func(), err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data folder %s is used by another rankgate: stop it, or choose another with --data", path)
		}
		return nil, fmt.Errorf("data folder %s cannot be locked: %w", path, err)
	}
	return func() { lock.Close() }, nil
}
