package farmstate

import (
	"maps"

	"github.com/sluicelb/sluice/core/farm"
)

// Earlier is the health of all backends before a restart, by ID: up, down, or undefined if it
// is unknown. Backends that are added later are absent. nil: there was no restart.
type Earlier map[uint32]farm.Status

// Down returns whether each backend was down, by ID. A backend of unknown health was not.
func (e Earlier) Down() map[uint32]bool {
	down := make(map[uint32]bool, len(e))
	for id, status := range e {
		down[id] = status == farm.StatusDown
	}
	return down
}

// IsUnknown reports whether a backend was there before the restart, but not its health. Its
// first known state after the restart is no change.
func (e Earlier) IsUnknown(backend uint32) bool {
	status, there := e[backend]
	return there && status != farm.StatusUp && status != farm.StatusDown
}

// Unknown returns the backends of unknown health.
func (e Earlier) Unknown() Earlier {
	unknown := maps.Clone(e)
	maps.DeleteFunc(unknown, func(id uint32, _ farm.Status) bool { return !e.IsUnknown(id) })
	return unknown
}

// Awaits reports whether a check will soon find the health of a backend, which is undefined
// until then; nil: never.
type Awaits func(backend uint32) bool

// Of reports whether the health of the backend at a position is awaited. That of a backend
// that stands for several is while the best of them may still turn out to be down.
func (a Awaits) Of(g farm.Group, position int, health Health) bool {
	if a == nil || In(g, position, health) != farm.StatusUndefined {
		return false
	}
	b := &g.Backends()[position]
	if !b.Spreads() {
		return a(b.ID)
	}
	for _, part := range g.Parts(b.ID) {
		if !part.Left && Backend(&part, health) == farm.StatusUndefined && a(part.ID) {
			return true
		}
	}
	return false
}

// OfFarm reports whether the health of some backend that counts as up in the status of a farm
// is awaited.
func (a Awaits) OfFarm(f *farm.Farm, health Health) bool {
	if a == nil {
		return false
	}
	for _, g := range f.Groups() {
		for k := range g.Backends() {
			if !g.Redirects() && a.Of(g, k, health) {
				return true
			}
		}
	}
	return false
}
