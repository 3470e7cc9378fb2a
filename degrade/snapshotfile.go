package degrade

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"rankgate/rankcore"
)

const (
	snapshotExt = ".snapshot"
	leftAfter   = time.Minute // a file that is still not in place after this was left by a process that ended
)

// snapshotFile is where a season's snapshots are kept: two generations, in turn, so that one damaged later leaves
// the one before. Gateways may share the folder: each file is whole, and the newer of the two is taken.
type snapshotFile struct {
	stem    string
	newest  int            // 0 or 1
	page    *rankcore.Page // what the newest holds; nil: there is none
	failing bool           // the last write failed
}

func newSnapshotFile(dir string, k seasonKey) *snapshotFile {
	name := string(k.board) + "." + strings.ReplaceAll(string(k.season), ":", "-") // board names hold no dot
	return &snapshotFile{stem: filepath.Join(dir, name)}
}

func (f *snapshotFile) path(generation int) string {
	return f.stem + [...]string{".a", ".b"}[generation] + snapshotExt
}

// says reports whether the disk has the same rows, confirmed not much earlier.
func (f *snapshotFile) says(page *rankcore.Page) bool {
	return f.page != nil && f.page.Total == page.Total && page.AsOf.Sub(f.page.AsOf) < confirmEvery &&
		slices.Equal(f.page.Entries, page.Entries)
}

// write replaces the older of the two. When it has returned nil the snapshot is on the disk; if it fails or the
// machine stops, both files are as they were, or the new one is whole.
func (f *snapshotFile) write(b *rankcore.Board, page *rankcore.Page) error {
	dir, older := filepath.Dir(f.stem), 1-f.newest
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := renameio.WriteFile(f.path(older), appendSnapshot(nil, b, page), 0o600, renameio.WithTempDir(dir)); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	f.newest, f.page = older, page
	return nil
}

// remove takes both files away. One that stays is too old to be shown, and is pruned after the next start.
func (f *snapshotFile) remove() {
	for generation := range 2 {
		_ = os.Remove(f.path(generation))
	}
}

// syncDir makes the renames in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads every snapshot of the boards in the folder.
func (s *Snapshots) load() {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("snapshots cannot be read", "cause", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") && strings.Contains(name, snapshotExt) {
			s.tidy(entry)
			continue
		}
		board, _, _ := strings.Cut(name, ".")
		i := slices.IndexFunc(s.boards, func(b *rankcore.Board) bool { return string(b.ID) == board })
		if i < 0 || filepath.Ext(name) != snapshotExt {
			continue
		}
		if err := s.loadFile(s.boards[i], filepath.Join(s.dir, name)); err != nil {
			s.metrics.badFiles.Inc()
			s.log.Error("a snapshot cannot be used; the one before may answer, or none", "file", name, "cause", err)
		}
	}
	s.prune(time.Now())
}

// loadFile has a file's snapshot answer, unless there is a newer one.
func (s *Snapshots) loadFile(b *rankcore.Board, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := parseSnapshot(data, b)
	if err != nil {
		return err
	}
	k := seasonKey{b.ID, page.Season}
	f := newSnapshotFile(s.dir, k)
	generation := slices.Index([]string{f.path(0), f.path(1)}, path)
	if generation < 0 {
		return fmt.Errorf("it holds season %q, which its name does not say", page.Season)
	}
	if last := s.held(k); last != nil && !page.AsOf.After(last.AsOf) {
		return nil
	}
	f.newest, f.page = generation, page
	s.files[k] = f
	s.hold(b.Ties, k, page)
	return nil
}

// tidy removes a file that was never put in place.
func (s *Snapshots) tidy(entry fs.DirEntry) {
	info, err := entry.Info()
	if err == nil && time.Since(info.ModTime()) > leftAfter {
		_ = os.Remove(filepath.Join(s.dir, entry.Name())) // it is tried again at the next start
	}
}
