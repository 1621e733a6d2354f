package marks

import (
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// want makes reserves for the kinds and returns them.
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

// Keep says which kinds the table in use of one of the reserve's users has. The
// sockets of kinds that no user has are closed soon.
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

// set makes these the kinds and shares the room among them. r.mu is held.
func (r *Reserve) set(all map[Kind]*stack) {
	for _, s := range all {
		shm.CloseDescriptors(s.fit(total / len(all)))
	}
	r.kinds.Store(&all)
}

// grow makes more room for kinds of which somebody found none.
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

// sweep closes what nobody has used for a while and says when to come again;
// 0 when there is nothing to come for.
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
