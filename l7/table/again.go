package table

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// again returns was, what the table before made of the same farm, if that is what would
// come of it now: its TLS configurations may change with certificates, which no farm holds.
// nil: compile it. What it refers to outlives tables, and goes on from where it is.
func again(was *Farm, build *tlsconf.Build, asked Challenges, f *farm.Farm) *Farm {
	if was == nil || asked != nil || was.Challenges != nil || !sameTLS(build, was, f) {
		return nil
	}
	return was
}

// sameTLS reports whether the TLS configurations of a farm are those it has. Asking for
// them keeps them for the tables to come.
func sameTLS(build *tlsconf.Build, was *Farm, f *farm.Farm) bool {
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
