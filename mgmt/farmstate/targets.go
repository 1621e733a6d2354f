package farmstate

import "github.com/sluicelb/sluice/core/farm"

// HasTargets reports whether a farm has anything to send clients to. A farm without targets
// is being created, and its status has no meaning yet.
func HasTargets(f *farm.Farm) bool {
	for _, g := range f.Groups() {
		if g.Redirects() || len(g.Backends()) > 0 {
			return true
		}
	}
	return false
}
