package table

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// again returns was, the previous compilation of the same farm, if it is still valid, else
// nil. TLS configurations are compared separately, because certificates live outside the
// farm. State that a Farm refers to outlives tables and is shared.
func again(was *Farm, build *tlsconf.Build, asked Challenges, f *farm.Farm) *Farm {
	if was == nil || asked != nil || was.Challenges != nil || !sameTLS(build, was, f) {
		return nil
	}
	return was
}

// sameTLS reports whether the TLS configurations of a farm are unchanged. Requesting them
// also keeps them for later builds.
func sameTLS(build *tlsconf.Build, was *Farm, f *farm.Farm) bool {
	if build.Adopts() {
		return true
	}
	if t := f.HTTP.TLS; t != nil {
		config, err := build.Listener(f.ID, t)
		if err != nil || was.TLS == nil || was.TLS.Security.Config != config {
			return false
		}
	}
	for i := range f.HTTP.Services {
		s := &f.HTTP.Services[i]
		if s.TLS == nil {
			continue
		}
		backend, err := build.Backend(s.ID, s.TLS, protocols(s)...)
		if err != nil || was.Services[i].TLS != backend {
			return false
		}
	}
	return true
}

// marked returns 1 if backends of the farm need marked sockets, else 0.
func (f *Farm) marked() int {
	if slices.ContainsFunc(f.kinds, func(k marks.Kind) bool { return k.Mark != 0 }) {
		return 1
	}
	return 0
}
