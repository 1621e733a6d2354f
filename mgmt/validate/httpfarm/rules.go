package httpfarm

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func checkService(f *farm.Farm, s *farm.Service, in field.Lookup, local []netip.Prefix,
	yield func(field.Error) bool) bool {
	path := profile.ServicePath(f.Name, s.Name)
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
		at := profile.BackendBelow(path, i)
		if !BackendDocument.Verify(at, b, in, yield) {
			return false
		}
		if b.Port == 0 && b.Resolve != farm.ResolveService && !yield(field.Error{Path: at, Field: "port", Message: "port must be a number from 1 to 65535, got 0; only with resolve srv the record names it"}) {
			return false
		}
		if err := checkOwnConnectTimeout(at, f, b); err != nil && !yield(*err) {
			return false
		}
		if err := Address(at, f, b, local); err != nil && !yield(*err) {
			return false
		}
		if b.Of != 0 {
			continue // reported once for its name
		}
		key := fmt.Sprintf("%s %d", profile.CanonHost(b.Host), b.Port)
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

// Address is profile.Reach for http farms, whose backends must not be the farm itself.
func Address(path string, f *farm.Farm, b *farm.Backend, local []netip.Prefix) *field.Error {
	addr, problem := profile.Reach(path, f, b, local)
	if problem != nil || !addr.IsValid() {
		return problem
	}
	if b.Port == f.VPort && profile.IsOwn(f.VIP, addr, local) {
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip and port must not be the farm's own address, got %s port %d: requests would go round in a circle", profile.HostAndAddr(b.Host, addr), b.Port)}
	}
	return nil
}
