package validate

import (
	"fmt"
	"iter"
	"net"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Rules checks whole configurations. The zero value knows no local networks.
type Rules struct {
	// Prefixes returns the addresses of this machine with their prefix lengths, including
	// host bits (192.0.2.7/24); nil means none. It is called once per check.
	Prefixes func() []netip.Prefix
	// Own lists the default addresses of the appliance's own API, which no running farm may
	// occupy. The configuration can override them.
	Own []netip.AddrPort
	// Unfinished skips the rules between farms, for a transaction with more writes to come.
	Unfinished bool
}

// OwnOf returns the addresses of the API in a configuration.
func (r Rules) OwnOf(s *farm.System) (out []netip.AddrPort) {
	for _, own := range r.Own {
		out = append(out, s.API.At(own))
	}
	return out
}

// MaxErrors bounds the result of All.
const MaxErrors = 100

// Config returns the first violation as *Error, or nil.
func (r Rules) Config(cfg *farm.Config) error {
	for err := range r.walk(cfg, r.local(), nil) {
		return &err
	}
	return nil
}

// All returns the violations in document order, at most MaxErrors.
func (r Rules) All(cfg *farm.Config) []field.Error {
	var out []field.Error
	for err := range r.walk(cfg, r.local(), nil) {
		if out = append(out, err); len(out) == MaxErrors {
			break
		}
	}
	return out
}

// Config is Rules{}.Config: all rules that do not depend on this machine.
func Config(cfg *farm.Config) error { return Rules{}.Config(cfg) }

// All is Rules{}.All.
func All(cfg *farm.Config) []field.Error { return Rules{}.All(cfg) }

// SystemPrefixes returns the addresses of this machine in the form of Rules.Prefixes. If they
// are unreadable, the list is empty.
func SystemPrefixes() []netip.Prefix {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Prefix
	for _, a := range addrs {
		network, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(network.IP)
		bits, _ := network.Mask.Size()
		if ok {
			out = append(out, netip.PrefixFrom(addr.Unmap(), bits))
		}
	}
	return out
}

// local returns the addresses of this machine.
func (r Rules) local() []netip.Prefix {
	if r.Prefixes == nil {
		return nil
	}
	return r.Prefixes()
}

// walk yields every violation. Helpers return false as soon as yield returns false. The
// function open returns the part of a farm that must be checked, nil if all of it is known to
// be valid. If open is nil, everything is checked.
func (r Rules) walk(cfg *farm.Config, local []netip.Prefix, open func(farm int) *farm.Farm) iter.Seq[field.Error] {
	return func(yield func(field.Error) bool) {
		backends := 0
		for i := range cfg.Farms {
			f := &cfg.Farms[i]
			part := f
			if open != nil {
				part = open(i)
			}
			if part != nil && !profile.Named(f.Profile).Check(part, local, yield) {
				return
			}
			backends += countBackends(f)
		}
		if !system.Verify(&cfg.System, yield) || !check.Verify(cfg, yield) || !checkLinks(cfg, yield) {
			return
		}
		if checkTogether(cfg, yield) && (r.Unfinished || checkBetween(cfg, yield)) && r.checkOwn(cfg, yield) &&
			checkLogFiles(cfg, yield) && backends > farm.MaxBackendID {
			yield(field.Error{Field: "backends", Message: fmt.Sprintf("backends: at most %d are possible over all farms, got %d", farm.MaxBackendID, backends)})
		}
	}
}

func countBackends(f *farm.Farm) int {
	n := 0
	for _, g := range f.Groups() {
		n += len(g.Backends())
	}
	return n
}

// Server returns the rule that the address of a backend violates on its own, or nil. Of the
// addresses of a name, only valid ones are used.
func (r Rules) Server(f *farm.Farm, b *farm.Backend) *field.Error {
	if f.Carries() == farm.TrafficRequests {
		return httpfarm.Address("", f, b, r.local())
	}
	_, problem := profile.Reach("", f, b, r.local())
	return problem
}
