package revisions

import (
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// statuses holds the status of all farms for all watchers, so that a watcher costs little
// while nothing changes.
type statuses struct {
	// look returns the function that determines the status of a farm now. Its texts name
	// every farm.
	look func() func(*farm.Farm) (farm.Status, string)
	now  func() time.Time

	mu   sync.Mutex
	last *moment
}

// moment holds the status of the farms of cfg, by stable ID. It is read-only.
type moment struct {
	cfg  *farm.Config
	at   time.Time
	farm map[uint32]ChangedStatus
}

// read returns the status of all farms of cfg. While they are equal, it returns the same
// moment. They are determined again after half of changeEvery.
func (s *statuses) read(cfg *farm.Config) *moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.last != nil && s.last.cfg == cfg && now.Sub(s.last.at) < changeEvery/2 {
		return s.last
	}
	next := &moment{cfg: cfg, at: now, farm: make(map[uint32]ChangedStatus, len(cfg.Farms))}
	same := s.last != nil && s.last.cfg == cfg
	look := s.look()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		status, problem := look(f)
		next.farm[f.ID] = ChangedStatus{Farm: f.Name, Status: status, Problem: problem}
		same = same && next.farm[f.ID] == s.last.farm[f.ID]
	}
	if same {
		s.last.at = now
		return s.last
	}
	s.last = next
	return next
}
