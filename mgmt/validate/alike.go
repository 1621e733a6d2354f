package validate

import (
	"iter"
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// isAlike reports whether all differences to the configuration of the verdict concern single
// farms. The results of the rules between farms, about checks and about the machine are then
// the same. at is the result of Align.
func (v *verdict) isAlike(cfg *farm.Config, at []int32) bool {
	if !v.whole || len(v.farms) != len(cfg.Farms) || !reflect.DeepEqual(v.system, cfg.System) ||
		!reflect.DeepEqual(v.checks, cfg.Checks) {
		return false
	}
	backends := v.backends
	for i := range cfg.Farms {
		if at[i] == int32(i) {
			continue
		}
		was, f := &v.farms[i], &cfg.Farms[i]
		if !sameToOthers(was, f) {
			return false
		}
		backends += countBackends(f) - v.counts[i]
	}
	return backends <= farm.MaxBackendID
}

// sameToOthers reports whether a farm changed in nothing that rules and warnings about
// several farms read: checkTogether, checkBetween, checkOwn, checkLogFiles, checkLinks,
// ownWarnings and warningsBetween.
func sameToOthers(was, f *farm.Farm) bool {
	return was.Name == f.Name && was.Profile == f.Profile &&
		was.VIP == f.VIP && was.Stopped == f.Stopped && was.InKernel() == f.InKernel() && was.Carries() == f.Carries() &&
		slices.Equal(was.VPorts(), f.VPorts()) && slices.Equal(was.Transports(), f.Transports()) &&
		(was.Zones() == nil) == (f.Zones() == nil) && sameLog(was, f) && sameGroups(was, f) && l4farm.SameAnswers(was, f) &&
		gslbfarm.SameServices(was, f)
}

func sameLog(was, f *farm.Farm) bool {
	a, on := was.Log()
	b, now := f.Log()
	return on == now && (!on || a.Sink == b.Sink && a.File == b.File && logLimits(was) == logLimits(f))
}

// sameGroups compares the names of groups, their checks, and the farms that answer for them.
func sameGroups(was, f *farm.Farm) bool {
	services := f.Services()
	return slices.EqualFunc(was.Groups(), f.Groups(), func(a, b farm.Group) bool {
		return a.Name() == b.Name() &&
			a.CheckedBy() == b.CheckedBy()
	}) &&
		slices.EqualFunc(was.Services(), services, func(a, b farm.Service) bool { return a.DNSFarm == b.DNSFarm })
}

// walkFarms yields the broken rules about single farms.
func walkFarms(cfg *farm.Config, local []netip.Prefix, open func(farm int) *farm.Farm) iter.Seq[field.Error] {
	return func(yield func(field.Error) bool) {
		for i := range cfg.Farms {
			if part := open(i); part != nil && !profile.Named(cfg.Farms[i].Profile).Check(part, local, yield) {
				return
			}
		}
	}
}
