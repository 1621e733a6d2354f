package validate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Warnings is Rules{}.Warnings: all that need no knowledge of this machine.
func Warnings(cfg *farm.Config) []Error { return Rules{}.Warnings(cfg) }

// Warnings returns what is allowed but cannot do what it says: backends whose
// priority can never be reached, settings that what carries the farm does
// not know. There is one for each thing, in document order.
func (r Rules) Warnings(cfg *farm.Config) []Error {
	local := r.local()
	return r.warnings(cfg, func(i int) []Error { return farmWarnings(&cfg.Farms[i], local) })
}

// warnings puts together those of single farms and those that are about the
// configuration as a whole.
func (r Rules) warnings(cfg *farm.Config, of func(farm int) []Error) []Error {
	var out []Error
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.SettingsProfile() == "" {
			continue // which is an error
		}
		if text := r.ownWarning(&cfg.System, f); text != "" {
			out = append(out, Error{FarmPath(f.Name), "vport", text})
		}
		out = append(out, of(i)...)
	}
	checkWarnings(cfg, func(e Error) { out = append(out, e) })
	loadWarnings(cfg, func(e Error) { out = append(out, e) })
	answerWarnings(cfg, func(f *farm.Farm, field, text string) {
		out = append(out, Error{FarmPath(f.Name), field, text})
	})
	return out
}

// farmWarnings are those of a farm that follow from nothing but itself and the
// addresses of this machine.
func farmWarnings(f *farm.Farm, local []netip.Prefix) (out []Error) {
	// Paths are made for what is warned of only: there may be many backends.
	at := func(path func() string) warn {
		return func(field, text string) {
			if text != "" {
				out = append(out, Error{path(), field, text})
			}
		}
	}
	p := ProfileOf(f)
	at(func() string { return FarmPath(f.Name) })("vip", VIPWarning(f))
	p.farmWarnings(f, at(func() string { return FarmPath(f.Name) }))
	for j, g := range f.Groups() {
		p.groupWarnings(f, j, at(func() string { return ServicePath(f.Name, g.Name()) }))
		for k := range g.Backends() {
			add := at(func() string { return PathOfBackend(g, k) })
			p.backendWarnings(g, k, local, add)
			add("priority", GroupPriorityWarning(g, k))
		}
	}
	return out
}

// VIPWarning says which clients the address of a farm does not serve, though it looks as
// if it did; empty when it serves all.
func VIPWarning(f *farm.Farm) string {
	switch {
	case f.VIP == netip.IPv6Unspecified():
		return "vip :: serves clients by IPv6 only; clients by IPv4 need a second farm with vip 0.0.0.0"
	case f.InKernel() && f.VIP.IsLoopback():
		return fmt.Sprintf("vip %s does not serve clients on this machine: the kernel, which carries the farm, forwards nothing from a loopback address; "+
			"use an address of an interface, or datapath userspace", f.VIP)
	}
	return ""
}

// GroupPriorityWarning returns a text when the backend at a position can never be
// used, whichever others are unusable: each profile has a rule of its own for it.
func GroupPriorityWarning(g farm.Group, i int) string { return ProfileOf(g.Farm).priorityWarning(g, i) }

// AddBackend says whether a backend may be added to s: not while s has a redirect, or a
// farm that answers, because its backends are not used then. path is s's own.
func AddBackend(path string, s *farm.Service) error {
	if s.DNSFarm != "" {
		return &Error{path, "dns_farm", "dns_farm must be empty before a backend can be added: a gslb farm answers for the service"}
	}
	if s.Redirect == "" {
		return nil
	}
	return &Error{path, "redirect", "redirect must be empty before a backend can be added: a service that redirects uses no backends"}
}

// LocalVIP says whether addr may be the VIP of a machine that has the local
// addresses: one of them, any loopback address or the unspecified one.
// It is asked when a farm is created, started or given another vip.
func LocalVIP(addr netip.Addr, local []netip.Addr) error {
	if addr.IsUnspecified() || addr.IsLoopback() || slices.Contains(local, addr) {
		return nil
	}
	return &Error{"", "vip", fmt.Sprintf("vip must be an address of this machine, got %s: add it to an interface first", addr)}
}

// UpVIP says whether a farm with the VIP addr can be started: down is the interface that
// has the address and is down, empty without one.
func UpVIP(addr netip.Addr, down string) error {
	if down == "" {
		return nil
	}
	return &Error{"", "vip", fmt.Sprintf("the interface of the vip %s is down: bring %s up first (ip link set %s up)", addr, down, down)}
}

// LocalSource says whether connections of a machine that has the local
// addresses may come from addr. It is asked when a backend is given another
// source; an address that goes away later stops no other change.
func LocalSource(addr netip.Addr, local []netip.Addr) error {
	if !addr.IsValid() || addr.IsLoopback() || slices.Contains(local, addr) {
		return nil
	}
	return &Error{"", "source", fmt.Sprintf("source must be an address of this machine, got %s: add it to an interface first", addr)}
}

// PriorityWarning returns a text when the backend at position i of s can never
// be used, "" otherwise: when the level stays below it though no backend of a
// lower one can be used.
func PriorityWarning(s *farm.Service, i int) string {
	own := s.Backends[i].EffectivePriority()
	var unusable farm.Unusable
	lower := 0
	for j := range s.Backends {
		if p := s.Backends[j].EffectivePriority(); p < own {
			unusable[p]++
			lower++
		}
	}
	most := unusable.Level()
	if own <= most {
		return ""
	}
	return fmt.Sprintf("priority %d will never be used: backends with a lower value: %d, so at most %d is reached", own, lower, most)
}
