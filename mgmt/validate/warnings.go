package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Warnings is Rules{}.Warnings: all that do not depend on this machine.
func Warnings(cfg *farm.Config) []field.Error { return Rules{}.Warnings(cfg) }

// Warnings returns valid settings that cannot work as configured, e.g. priorities that are
// never reached, or settings that the carrier does not support. There is one per cause, in
// document order.
func (r Rules) Warnings(cfg *farm.Config) []field.Error {
	local := r.local()
	var out []field.Error
	for i := range cfg.Farms {
		out = append(out, r.ownWarnings(&cfg.System, &cfg.Farms[i])...)
		out = append(out, farmWarnings(&cfg.Farms[i], local)...)
	}
	return append(out, warningsBetween(cfg)...)
}

// warningsBetween returns those that depend on several farms, on checks or on the settings of
// the machine.
func warningsBetween(cfg *farm.Config) (out []field.Error) {
	system.Warnings(cfg, func(e field.Error) { out = append(out, e) })
	checkWarnings(cfg, func(e field.Error) { out = append(out, e) })
	loadWarnings(cfg, func(e field.Error) { out = append(out, e) })
	answerWarnings(cfg, func(f *farm.Farm, fieldName, text string) {
		out = append(out, field.Error{Path: FarmPath(f.Name), Field: fieldName, Message: text})
	})
	return out
}

// farmWarnings returns the warnings that depend only on the farm and the addresses of this
// machine.
func farmWarnings(f *farm.Farm, local []netip.Prefix) (out []field.Error) {
	if f.SettingsProfile() == "" {
		return nil // which is an error
	}
	// Paths are built only for actual warnings, as there may be many backends.
	at := func(path func() string) warn {
		return func(fieldName, text string) {
			if text != "" {
				out = append(out, field.Error{Path: path(), Field: fieldName, Message: text})
			}
		}
	}
	p := ProfileOf(f)
	at(func() string { return FarmPath(f.Name) })("vip", VIPWarning(f))
	p.Farm().Document.UnreachableWarnings(f, at(func() string { return FarmPath(f.Name) }))
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

// Concerns reports whether a warning belongs in the response about the object at path. A
// warning about the nattype of a farm also concerns its backends.
func Concerns(e *field.Error, path string) bool {
	return e.Path == "" || e.Path == path || e.Field == "nattype" && strings.HasPrefix(path, e.Path+" ")
}

// VIPWarning describes clients that are unexpectedly excluded by the farm's address; "" if
// all are served.
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

// GroupPriorityWarning returns a text if the backend at a position can never be used,
// whichever others are unusable. Each profile has its own rule.
func GroupPriorityWarning(g farm.Group, i int) string { return ProfileOf(g.Farm).priorityWarning(g, i) }

// AddBackend reports whether a backend may be added to s. A service with a redirect or a
// DNS farm uses no backends. path is that of s.
func AddBackend(path string, s *farm.Service) error {
	if s.DNSFarm != "" {
		return &field.Error{Path: path, Field: "dns_farm", Message: "dns_farm must be empty before a backend can be added: a gslb farm answers for the service"}
	}
	if s.Redirect == "" {
		return nil
	}
	return &field.Error{Path: path, Field: "redirect", Message: "redirect must be empty before a backend can be added: a service that redirects uses no backends"}
}

// LocalVIP checks that addr is possible as VIP on a machine with these local addresses: one
// of them, a loopback address or the unspecified one. It is called when a farm is created,
// started or gets another vip.
func LocalVIP(addr netip.Addr, local []netip.Addr) error {
	if addr.IsUnspecified() || addr.IsLoopback() || slices.Contains(local, addr) {
		return nil
	}
	return &field.Error{Path: "", Field: "vip", Message: fmt.Sprintf("vip must be an address of this machine, got %s: add it to an interface first", addr)}
}

// UpVIP checks whether a farm with the VIP addr can start. down is the interface that has
// the address and is down, "" for none.
func UpVIP(addr netip.Addr, down string) error {
	if down == "" {
		return nil
	}
	return &field.Error{Path: "", Field: "vip", Message: fmt.Sprintf("the interface of the vip %s is down: bring %s up first (ip link set %s up)", addr, down, down)}
}

// LocalSource checks that addr is possible as source address on a machine with these local
// addresses. It is called when the source of a backend changes, so that an address that
// disappears later blocks no other change.
func LocalSource(addr netip.Addr, local []netip.Addr) error {
	if !addr.IsValid() || addr.IsLoopback() || slices.Contains(local, addr) {
		return nil
	}
	return &field.Error{Path: "", Field: "source", Message: fmt.Sprintf("source must be an address of this machine, got %s: add it to an interface first", addr)}
}

// PriorityWarning returns a text if the backend at position i of s can never be used, i.e.
// if its level is not reached even when all backends of lower levels are unusable.
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
