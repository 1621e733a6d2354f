package table

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// again is what the table before made of a farm, where it would be the same: the farm
// is the one it was, in the same place (snapshot.Reader), and so are its TLS
// configurations, which certificates change that no farm holds. nil: compile it. What
// it refers to outlives tables, and goes on from where it is.
func (c *Compiler) again(before *Table, build *tlsconf.Build, asked Challenges, f *farm.Farm) *Farm {
	if before == nil || f.HTTP == nil || before.sources[f.ID] != *f {
		return nil
	}
	was := before.Farms[f.ID]
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
