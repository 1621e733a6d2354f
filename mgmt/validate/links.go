package validate

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// checkDNSFarms checks that the gslb farms that services refer to exist.
func checkDNSFarms(cfg *farm.Config, yield func(field.Error) bool) bool {
	var known map[string]bool
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for j := range f.Services() {
			s := &f.Services()[j]
			if s.DNSFarm == "" {
				continue
			}
			if known == nil {
				known = namesOfZones(cfg)
			}
			if !known[s.DNSFarm] && !yield(*NoNames(f.Name, s.Name, s.DNSFarm)) {
				return false
			}
		}
	}
	return true
}

// namesOfZones returns the names of all gslb farms.
func namesOfZones(cfg *farm.Config) map[string]bool {
	names := map[string]bool{}
	for i := range cfg.Farms {
		if cfg.Farms[i].Zones() != nil {
			names[cfg.Farms[i].Name] = true
		}
	}
	return names
}

// NoNames returns the error for a missing gslb farm.
func NoNames(farmName, service, name string) *field.Error {
	return &field.Error{Path: profile.ServicePath(farmName, service), Field: "dns_farm",
		Message: fmt.Sprintf("dns_farm must be the name of a gslb farm, and there is none named %s: create it, or empty dns_farm first", field.Show(name))}
}

// checkLinks checks that the health checks of groups exist.
func checkLinks(cfg *farm.Config, yield func(field.Error) bool) bool {
	known := make(map[string]bool, len(cfg.Checks))
	for i := range cfg.Checks {
		known[cfg.Checks[i].Name] = true
	}
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			name := g.CheckedBy()
			if name == "" || known[name] {
				continue
			}
			if _, is := check.Template(name); is {
				continue
			}
			if !yield(field.Error{Path: profile.LinkPath(g), Field: check.LinkRule.Name, Message: fmt.Sprintf("%s: there is no check %s%s", check.LinkRule.Name, field.Show(name), cmp.Or(suggest.Near(name, checkNames(cfg)), "; sluice check list shows them"))}) {
				return false
			}
		}
	}
	return true
}

func checkNames(cfg *farm.Config) (out []string) {
	for _, c := range check.All(cfg) {
		out = append(out, c.Name)
	}
	return out
}

// checkWarnings adds warnings about linked checks that cannot find anything.
func checkWarnings(cfg *farm.Config, add func(field.Error)) {
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			if c, is := check.Named(cfg, g.CheckedBy()); is && c.Command == "" {
				add(field.Error{Path: profile.LinkPath(g), Field: check.LinkRule.Name, Message: fmt.Sprintf("the check %s has no command: nobody is asked", c.Name)})
			}
			if f := &cfg.Farms[i]; f.InKernel() && g.CheckedBy() == "" {
				add(field.Error{Path: profile.LinkPath(g), Field: check.LinkRule.Name, Message: "no health check: the kernel, which carries the farm, does not notice failures, and a backend that is down keeps getting clients; link a check"})
			}
		}
	}
}
