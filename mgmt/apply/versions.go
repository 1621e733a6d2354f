package apply

import (
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// versions holds the last revision that changed each farm, by farm ID. It starts with the
// revision in force at the start of the Applier; older changes of a farm are unknown and count
// as that revision.
type versions struct {
	mu    sync.RWMutex
	start uint64
	of    map[uint32]uint64
}

// note records the farms that a revision added or changed, and removes deleted ones.
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

// last returns the last revision that changed a farm.
func (v *versions) last(id uint32) uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return max(v.start, v.of[id])
}

// FarmRevision returns the number of the last revision that changed a farm. Changes before the
// start of the Applier count as the revision in force at its start.
func (a *Applier) FarmRevision(id uint32) uint64 { return a.versions.last(id) }
