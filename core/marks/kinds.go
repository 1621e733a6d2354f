package marks

import (
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// want adds reserves for kinds and returns them.
func (r *Reserve) want(kinds []Kind) map[Kind]*stack {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, wanted := maps.Clone(*r.kinds.Load()), map[Kind]*stack{}
	for _, k := range kinds {
		s := all[k]
		if s == nil {
			s = newStack()
			all[k] = s
		}
		s.use(time.Time{})
		s.anew()
		wanted[k] = s
	}
	r.set(all)
	return wanted
}

// Keep sets the kinds needed by the current table of one user of the reserve. Sockets
// of kinds without a user are closed after linger.
func (r *Reserve) Keep(user string, kinds []Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[user] = slices.Clone(kinds)
	used := map[Kind]bool{}
	for _, kinds := range r.users {
		for _, k := range kinds {
			used[k] = true
		}
	}
	now := time.Now()
	for k, s := range *r.kinds.Load() {
		if used[k] {
			s.use(time.Time{})
		} else {
			s.use(now)
		}
	}
	call(r.low)
}

// set stores the kinds and divides the total among them. r.mu must be held.
func (r *Reserve) set(all map[Kind]*stack) {
	for _, s := range all {
		shm.CloseDescriptors(s.fit(total / len(all)))
	}
	r.kinds.Store(&all)
}

// grow enlarges the reserves of kinds that ran out.
func (r *Reserve) grow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, grew := *r.kinds.Load(), false
	for _, s := range all {
		grew = s.grow() || grew
	}
	if grew {
		r.set(all)
	}
}

// sweep closes reserves that have been unused for linger. It returns the time until the
// next sweep, or 0 if none is needed.
func (r *Reserve) sweep(now time.Time) (next time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := maps.Clone(*r.kinds.Load())
	for k, s := range left {
		since := s.unusedSince()
		switch over := since.Add(linger); {
		case since.IsZero():
		case over.After(now):
			next = max(next, over.Sub(now))
		default:
			delete(left, k)
			defer func() { shm.CloseDescriptors(s.resize(0)) }()
		}
	}
	if len(left) < len(*r.kinds.Load()) {
		r.set(left)
	}
	return next
}
