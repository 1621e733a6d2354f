package farm

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Alias converts a record of type ALIAS to DYNA, with a service whose only backend is the
// target name, with all its addresses. Each address is checked. An existing service for the
// name is used.
func (d *GSLB) Alias(z *Zone, r *Record) {
	target := strings.ToLower(strings.TrimSuffix(r.Data, "."))
	if target != "" && !strings.HasSuffix(r.Data, ".") {
		target = strings.TrimSuffix(z.Qualify(target), ".")
	}
	name := d.aliasService(target)
	if d.Service(name) == nil {
		d.Services = append(d.Services, DNSService{Name: name, Algorithm: DNSRoundRobin, Backends: []Backend{{Host: target, Resolve: ResolveAll}}})
	}
	r.Type, r.Data = RecordDYNA, name
}

// AliasOf returns the target name, with a trailing dot, of a service made by Alias. It
// returns false for other services, and for services that were changed to do more.
func (d *GSLB) AliasOf(service string) (target string, is bool) {
	s := d.Service(service)
	if s == nil || len(s.Backends) == 0 || s.Backends[0].Resolve != ResolveAll ||
		slices.ContainsFunc(s.Backends[1:], func(b Backend) bool { return b.Of == 0 }) { // the others are addresses of the first
		return "", false
	}
	target = s.Backends[0].Host
	return target + ".", target != "" && d.aliasService(target) == service
}

// aliasService returns the name of the farm's service for the addresses of a name.
func (d *GSLB) aliasService(target string) string {
	name := aliasName(target, false)
	if s := d.Service(name); s != nil && !s.standsFor(target) {
		return aliasName(target, true)
	}
	return name
}

// standsFor reports whether a backend of the service has that name.
func (s *DNSService) standsFor(name string) bool {
	return slices.ContainsFunc(s.Backends, func(b Backend) bool { return b.Host == name })
}

// aliasName returns a service name for the addresses of a name. With sure it is unique.
func aliasName(target string, sure bool) string {
	const prefix, most, digits = "alias-", 64, 9
	name := prefix + strings.NewReplacer(".", "-", "_", "-").Replace(target)
	if sure || len(name) > most {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(target)) // never fails
		name = fmt.Sprintf("%s-%08x", name[:min(len(name), most-digits)], sum.Sum32())
	}
	return name
}
