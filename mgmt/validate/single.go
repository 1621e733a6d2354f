package validate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// AddBackend says whether a backend may be added to s: not while s has a
// redirect, because its backends are not used then. path is s's own.
func AddBackend(path string, s *farm.Service) error {
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
