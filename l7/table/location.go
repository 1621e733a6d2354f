package table

import (
	"github.com/sluicelb/sluice/core/farm"
)

// Locate says which Location and Content-Location fields of responses are made
// to point to where the client is.
type locate struct {
	On    bool
	Own   bool // those that name the farm's own address too
	Paths bool // the rules for paths are undone
}

// newLocate reads the mode of a service, or else its farm's.
func newLocate(f *farm.HTTP, s *farm.Service) locate {
	mode := s.RewriteLocation
	if mode == "" {
		mode = f.RewriteLocation
	}
	switch mode {
	case farm.RewriteEnabled:
		return locate{On: true, Own: true}
	case farm.RewriteEnabledBackends:
		return locate{On: true}
	case farm.RewriteEnabledPath:
		return locate{On: true, Own: true, Paths: true}
	case farm.RewriteEnabledBackendsPath:
		return locate{On: true, Paths: true}
	}
	return locate{}
}
