package validate

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

func checkService(f *farm.Farm, s *farm.Service, in field.Lookup, local []netip.Prefix,
	yield func(field.Error) bool) bool {
	path := ServicePath(f.Name, s.Name)
	if !ServiceDocument.Verify(path, s, in, yield) {
		return false
	}
	for _, err := range []*field.Error{checkSession(path, s), checkTogetherWith(path, f, s), checkRate(path,
		s.RateLimit), checkAuth(path, s),
		checkBackendProtocol(path, s)} {
		if err != nil && !yield(*err) {
			return false
		}
	}
	if !checkServiceRules(path, s, yield) {
		return false
	}
	seen := make(map[string]int, len(s.Backends))
	for i := range s.Backends {
		b := &s.Backends[i]
		at := backendPath(path, i)
		if !BackendDocument.Verify(at, b, in, yield) {
			return false
		}
		if b.Port == 0 && b.Resolve != farm.ResolveService && !yield(field.Error{Path: at, Field: "port", Message: "port must be a number from 1 to 65535, got 0; only with resolve srv the record names it"}) {
			return false
		}
		if err := checkOwnConnectTimeout(at, f, b); err != nil && !yield(*err) {
			return false
		}
		if err := checkAddress(at, f, b, local); err != nil && !yield(*err) {
			return false
		}
		if b.Of != 0 {
			continue // reported once for its name
		}
		key := fmt.Sprintf("%s %d", canonicalHost(b.Host), b.Port)
		if first, found := seen[key]; found && !yield(field.Error{Path: at, Field: "ip",
			Message: fmt.Sprintf("ip and port must be unique in the service, backend %d has %s port %d already", first, b.Host, b.Port)}) {
			return false
		}
		seen[key] = i
	}
	if err := checkStatics(f, s); err != nil {
		return yield(*err)
	}
	return true
}

// checkSession checks the rules between persistence and sessionid. A missing one is only a
// warning.
func checkSession(path string, s *farm.Service) *field.Error {
	switch {
	case s.Persistence == farm.PersistURL && strings.ContainsAny(s.SessionID, "=&#;? "):
		return &field.Error{Path: path, Field: "sessionid", Message: fmt.Sprintf("sessionid must be a parameter name without blanks and =&#;?, got %s", field.Show(s.SessionID))}
	case (s.Persistence == farm.PersistCookie || s.Persistence == farm.PersistHeader) && s.SessionID != "" && !format.Token.MatchString(s.SessionID):
		return &field.Error{Path: path, Field: "sessionid", Message: fmt.Sprintf("sessionid must be a token (letters, digits and !#$%%&'*+.^_`|~-), got %s", field.Show(s.SessionID))}
	}
	return nil
}

// checkTogetherWith checks the rules between the options of a service, and between them and
// its farm.
func checkTogetherWith(path string, f *farm.Farm, s *farm.Service) *field.Error {
	switch {
	case s.STS != 0 && !f.HTTPS():
		return &field.Error{Path: path, Field: "sts_status", Message: "sts_status must be false with listener http: browsers obey Strict-Transport-Security over TLS only; set sts_status false, or listener https"}
	case s.DNSFarm != "" && s.Redirect != "":
		return &field.Error{Path: path, Field: "dns_farm", Message: "dns_farm is not possible with redirect: a service does one of both; empty one of them"}
	case s.TLS != nil:
		return checkBackendTLS(path, s.TLS)
	}
	return nil
}

// checkReach checks mark and address of a backend beyond their form, for all profiles. It
// rejects marks used by farms, broadcast addresses of local networks, and another IP version
// than the VIP's unless the farm can mix them. For a host name it checks the resolved
// address; addr is invalid if it is unresolved.
func checkReach(path string, f *farm.Farm, b *farm.Backend, local []netip.Prefix) (addr netip.Addr,
	problem *field.Error) {
	if reason := ownMark(b.Mark); reason != "" {
		return addr, &field.Error{Path: path, Field: "mark", Message: "mark " + reason}
	}
	if problem := checkResolve(path, b); problem != nil {
		return addr, problem
	}
	addr = b.Addr
	if literal, err := netip.ParseAddr(b.Host); err == nil {
		addr = literal
	}
	if !addr.IsValid() {
		return addr, nil
	}
	return addr, checkServer(path, f, b, addr, local)
}

// Server returns the rule that the address of a backend violates on its own, or nil. Of the
// addresses of a name, only valid ones are used.
func (r Rules) Server(f *farm.Farm, b *farm.Backend) *field.Error {
	if f.Carries() == farm.TrafficRequests {
		return checkAddress("", f, b, r.local())
	}
	_, problem := checkReach("", f, b, r.local())
	return problem
}

// checkAddress is checkReach for http farms, whose backends must not be the farm itself.
func checkAddress(path string, f *farm.Farm, b *farm.Backend, local []netip.Prefix) *field.Error {
	addr, problem := checkReach(path, f, b, local)
	if problem != nil || !addr.IsValid() {
		return problem
	}
	if b.Port == f.VPort && isOwn(f.VIP, addr, local) {
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip and port must not be the farm's own address, got %s port %d: requests would go round in a circle", hostAndAddr(b.Host, addr), b.Port)}
	}
	return nil
}

// addressOf returns the address to check. A name of a gslb farm may have an IPv4 address in a
// record of type AAAA, as ::ffff:192.0.2.1; the user cannot write it differently.
func addressOf(f *farm.Farm, b *farm.Backend, addr netip.Addr) netip.Addr {
	if _, err := netip.ParseAddr(b.Host); err != nil && f.Carries() == farm.TrafficQueries {
		return addr.Unmap()
	}
	return addr
}

// checkServer checks the address of a backend for all profiles.
func checkServer(path string, f *farm.Farm, b *farm.Backend, addr netip.Addr, local []netip.Prefix) *field.Error {
	if problem := format.Server(addressOf(f, b, addr), local); problem != "" {
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip must be the address of one server, got %s: %s", hostAndAddr(b.Host, addr), problem)}
	}
	if f.VIP.IsValid() && addr.Is4() != f.VIP.Is4() && !f.MixesVersions() {
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip must be of the same IP version as the vip (%s), got %s: %s", f.VIP, hostAndAddr(b.Host, addr), ProfileOf(f).oneVersion(f))}
	}
	if problem := checkSource(b.Source, addr, local); problem != "" {
		return &field.Error{Path: path, Field: "source", Message: problem}
	}
	return nil
}

// checkSource checks a source address beyond its form.
func checkSource(source, addr netip.Addr, local []netip.Prefix) string {
	switch {
	case !source.IsValid():
		return ""
	case source.Is4() != addr.Is4():
		return fmt.Sprintf("source must be of the same IP version as the backend (%s), got %s", addr, source)
	}
	if problem := format.Server(source, local); problem != "" {
		return fmt.Sprintf("source must be the address of one machine, got %s: %s", source, problem)
	}
	return ""
}

func hostAndAddr(host string, addr netip.Addr) string {
	if host == addr.String() {
		return host
	}
	return fmt.Sprintf("%s (%s)", field.Show(host), addr)
}

// isOwn reports whether a listener on vip receives connections to addr.
func isOwn(vip, addr netip.Addr, local []netip.Prefix) bool {
	if addr == vip {
		return true
	}
	if !vip.IsUnspecified() {
		return false
	}
	if addr.IsLoopback() {
		return true
	}
	for _, network := range local {
		if network.Addr() == addr {
			return true
		}
	}
	return false
}

func canonicalHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// checkTogether checks the number of farms and the uniqueness of their names.
func checkTogether(cfg *farm.Config, yield func(field.Error) bool) bool {
	if len(cfg.Farms) > farm.MaxFarmID && !yield(field.Error{Path: "", Field: "farms",
		Message: fmt.Sprintf("farms: at most %d are possible, got %d", farm.MaxFarmID, len(cfg.Farms))}) {
		return false
	}
	names := make(map[string]bool, len(cfg.Farms))
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if names[f.Name] && !yield(field.Error{Path: FarmPath(f.Name), Field: "name", Message: fmt.Sprintf("name must be unique, a farm %s exists already", field.Show(f.Name))}) {
			return false
		}
		names[f.Name] = true
	}
	return true
}

// checkBetween checks the rules between farms that a transaction may violate between two
// writes, e.g. while two farms swap their ports.
func checkBetween(cfg *farm.Config, yield func(field.Error) bool) bool {
	return checkDNSFarms(cfg, yield) && checkCollisions(cfg, yield) && checkAnswers(cfg, yield)
}
