package apply

import (
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// versions holds, by farm ID, the revision that changed a farm last. It begins at the
// revision in force when the Applier starts: which of the older ones changed a farm is
// not known, so all of them count as older.
type versions struct {
	mu    sync.RWMutex
	start uint64
	of    map[uint32]uint64
}

// note records the farms that a revision added or changed, and forgets deleted ones.
func (v *versions) note(old, now *farm.Config, revision uint64) {
	was, is := apart(old, now)
	if len(was.Farms) == 0 && len(is.Farms) == 0 {
		return
	}
	before := make(map[uint32]*farm.Farm, len(was.Farms))
	for i := range was.Farms {
		before[was.Farms[i].ID] = &was.Farms[i]
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range is.Farms {
		f := &is.Farms[i]
		if other := before[f.ID]; other == nil || !equal(other, f) { // farms with host names are never shared
			v.of[f.ID] = revision
		}
		delete(before, f.ID)
	}
	for id := range before {
		delete(v.of, id)
	}
}

// last returns the revision that changed a farm last.
func (v *versions) last(id uint32) uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return max(v.start, v.of[id])
}

// FarmRevision returns the number of the revision that changed a farm last. Changes
// before the Applier started count as the revision in force at its start.
func (a *Applier) FarmRevision(id uint32) uint64 { return a.versions.last(id) }
