package gslbfarm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// tellingCheck is the check that reports the number of connections of a backend.
const tellingCheck = "check_sluice"

// LoadWarnings adds warnings about services that balance by load but do not know the load
// of a backend. Such a backend counts as the most loaded.
func LoadWarnings(cfg *farm.Config, add func(field.Error)) {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Global == nil {
			continue
		}
		for k := range f.Global.Services {
			s := &f.Global.Services[k]
			if silent := silentBackends(cfg, s); len(silent) > 0 {
				add(field.Error{Path: profile.ServicePath(f.Name, s.Name), Field: algorithm.Name, Message: fmt.Sprintf("algorithm load: nobody tells the connections of %s, and what is not known counts as the most: "+
					"name a check with %s by farmguardian, or give addresses of farms of this appliance that take port %d", strings.Join(silent, ", "), tellingCheck, s.EffectivePort())})
			}
		}
	}
}

// silentBackends returns the addresses whose load the service cannot know, neither from its
// check nor from a local farm.
func silentBackends(cfg *farm.Config, s *farm.DNSService) (out []string) {
	if s.Algorithm != farm.DNSLoad {
		return nil
	}
	if c, is := check.Named(cfg, s.Check); is && strings.HasPrefix(strings.TrimSpace(c.Command), tellingCheck) {
		return nil
	}
	for i := range s.Backends {
		b := &s.Backends[i]
		ours := slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool {
			return f.VIP.Unmap() == b.Addr.Unmap() && f.Carries() != farm.TrafficQueries && f.Takes(farm.L4TCP,
				s.EffectivePort())
		})
		if !ours {
			out = append(out, b.ShownAddress())
		}
	}
	return out
}

// SameServices compares what LoadWarnings reads.
func SameServices(was, f *farm.Farm) bool {
	if was.Global == nil || f.Global == nil {
		return was.Global == f.Global
	}
	return slices.EqualFunc(was.Global.Services, f.Global.Services, sameLoadWarnings)
}

func sameLoadWarnings(a, b farm.DNSService) bool {
	if a.Name != b.Name || a.Algorithm != b.Algorithm {
		return false
	}
	return a.Algorithm != farm.DNSLoad || a.Check == b.Check && a.EffectivePort() == b.EffectivePort() &&
		slices.EqualFunc(a.Backends, b.Backends, func(a, b farm.Backend) bool {
			return a.Addr == b.Addr && a.ShownAddress() == b.ShownAddress()
		})
}
