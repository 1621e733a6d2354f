package lint

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// objectsOf returns the farms, services and backends of a configuration by their path in
// warnings, each as a finding that names it.
func objectsOf(cfg *farm.Config) map[string]Finding {
	out := map[string]Finding{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		out[profile.FarmPath(f.Name)] = Finding{Farm: f.Name}
		for _, g := range f.Groups() {
			if g.OfService() {
				out[profile.ServicePath(f.Name, g.Name())] = Finding{Farm: f.Name, Service: g.Name()}
			}
			for k := range g.Backends() {
				number := g.Number(k)
				out[profile.PathOfBackend(g, k)] = Finding{Farm: f.Name, Service: g.Name(), Backend: &number}
			}
		}
	}
	return out
}
