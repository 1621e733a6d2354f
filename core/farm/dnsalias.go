package farm

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Alias makes a record of type ALIAS one that is answered by a service whose only backend is
// the name it stands for, at all its addresses, each of which is checked. A service there is
// for the name is taken.
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

// AliasOf is the name, with a dot at its end, for which a service gives addresses that Alias
// made; false for any other service, and when somebody made it do more than that.
func (d *GSLB) AliasOf(service string) (target string, is bool) {
	s := d.Service(service)
	if s == nil || len(s.Backends) == 0 || s.Backends[0].Resolve != ResolveAll ||
		slices.ContainsFunc(s.Backends[1:], func(b Backend) bool { return b.Of == 0 }) { // the others are addresses of that one
		return "", false
	}
	target = s.Backends[0].Host
	return target + ".", target != "" && d.aliasService(target) == service
}

// aliasService is what the service for the addresses of a name is called in the farm.
func (d *GSLB) aliasService(target string) string {
	name := aliasName(target, false)
	if s := d.Service(name); s != nil && !s.standsFor(target) {
		return aliasName(target, true)
	}
	return name
}

// standsFor reports whether a name is one of its backends.
func (s *DNSService) standsFor(name string) bool {
	return slices.ContainsFunc(s.Backends, func(b Backend) bool { return b.Host == name })
}

// aliasName is what a service for the addresses of a name is called; sure says that no
// other name may have the same.
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
