package farmstate

import "github.com/sluicelb/sluice/core/farm"

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
// first state after the restart is no change.
func (e Earlier) IsUnknown(backend uint32) bool {
	status, there := e[backend]
	return there && status != farm.StatusUp && status != farm.StatusDown
}
