package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// tellingCheck is the check that is told how many connections a backend has.
const tellingCheck = "check_sluice"

// loadWarnings are about services that go by how much backends have to do, where nobody
// tells it: such backends count as those that have most.
func loadWarnings(cfg *farm.Config, add func(Error)) {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Global == nil {
			continue
		}
		for k := range f.Global.Services {
			s := &f.Global.Services[k]
			if silent := silentBackends(cfg, s); len(silent) > 0 {
				add(Error{ServicePath(f.Name, s.Name), dnsAlgorithm.name, fmt.Sprintf("algorithm load: nobody tells the connections of %s, and what is not known counts as the most: "+
					"name a check with %s by farmguardian, or give addresses of farms of this appliance that take port %d", strings.Join(silent, ", "), tellingCheck, s.EffectivePort())})
			}
		}
	}
}

// silentBackends are the addresses of which nobody tells the service how much they have
// to do: neither its check, nor a farm of this appliance that is there.
func silentBackends(cfg *farm.Config, s *farm.DNSService) (out []string) {
	if s.Algorithm != farm.DNSLoad {
		return nil
	}
	if c, is := CheckNamed(cfg, s.Check); is && strings.HasPrefix(strings.TrimSpace(c.Command), tellingCheck) {
		return nil
	}
	for i := range s.Backends {
		b := &s.Backends[i]
		ours := slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool {
			return f.VIP.Unmap() == b.Addr.Unmap() && f.Carries() != farm.TrafficQueries && f.Takes(farm.L4TCP, s.EffectivePort())
		})
		if !ours {
			out = append(out, b.ShownAddress())
		}
	}
	return out
}
