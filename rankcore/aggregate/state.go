package aggregate

import (
	"sync"

	"rankgate/rankcore"
)

// boardState is what the applier of this process tells of its board.
type boardState struct {
	mu       sync.Mutex // guards what follows
	leads    bool
	progress rankcore.Progress
	changes  uint64
}

func whole(p rankcore.Progress) bool { return p.ShardsOut == 0 && !p.CaughtUp.IsZero() }

func (s *boardState) now() (rankcore.Progress, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress, s.changes
}

func (s *boardState) changed() uint64 {
	_, changes := s.now()
	return changes
}

func (s *boardState) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
}

// tell takes progress over, and reports whether the process has just begun to apply the board. While a shard is out,
// nothing that was read stays true.
func (s *boardState) tell(p rankcore.Progress) (began bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began = !s.leads
	s.leads, s.progress = true, p
	if p.ShardsOut > 0 || began {
		s.changes++
	}
	return began
}

func (s *boardState) withdraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leads, s.progress = false, rankcore.Progress{}
	s.changes++
}

func (s *boardState) isLeading() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leads
}
