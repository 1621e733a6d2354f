// Package coverage compares the names of certificates with the hosts that services match:
// which names another certificate no longer covers, and which services clients reach by
// them. All functions are pure.
package coverage

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Set is the names that some certificates cover. Make it with New.
type Set struct {
	certificate x509.Certificate
	names       map[string]bool // in lower case
}

// New returns the set of names: hosts, wildcards (*.example.com) and addresses. Mail
// addresses and URIs, which certificates may have as well, cover no host.
func New(names ...string) *Set {
	s := &Set{names: map[string]bool{}}
	for _, name := range names {
		s.names[strings.ToLower(name)] = true
		if a, err := netip.ParseAddr(name); err == nil {
			s.certificate.IPAddresses = append(s.certificate.IPAddresses, a.AsSlice())
		} else {
			s.certificate.DNSNames = append(s.certificate.DNSNames, name)
		}
	}
	return s
}

// Covers reports whether clients that request a name accept one of the certificates. A
// wildcard is covered by the same wildcard only.
func (s *Set) Covers(name string) bool {
	return s.names[strings.ToLower(name)] || !strings.Contains(name, "*") && s.certificate.VerifyHostname(name) == nil
}

// Without returns the names of hosts and addresses that the set does not cover, in order.
func (s *Set) Without(names []string) []string {
	var out []string
	for _, name := range names {
		if !strings.ContainsAny(name, "@/") && !s.Covers(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Use is a service, or a farm without services, that clients reach by names.
type Use struct {
	Farm    string
	Service string // empty for a farm without services
	Names   []string
}

// String returns its name in texts.
func (u Use) String() string {
	who := "farm " + u.Farm
	if u.Service != "" {
		who = fmt.Sprintf("service %s of farm %s", u.Service, u.Farm)
	}
	return fmt.Sprintf("%s (%s)", strings.Join(u.Names, ", "), who)
}

// Affected lists the uses that lose names when the names of a certificate change. These are
// farms with that certificate whose other certificates do not cover the names either, and the
// services in them that match the names. namesOf returns the names of another certificate.
func Affected(cfg *farm.Config, certificate string, before, after []string, namesOf func(certificate string) []string) []Use {
	var out []Use
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		t := f.ListenerTLS()
		if t == nil || !slices.Contains(t.Certificates, certificate) {
			continue
		}
		var others []string
		for _, name := range t.Certificates {
			if name != certificate {
				others = append(others, namesOf(name)...)
			}
		}
		out = append(out, Losing(f, New(slices.Concat(before, others)...), New(slices.Concat(after, others)...), before)...)
	}
	return out
}

// Losing lists the services of a farm that match names which were covered and no longer
// are. names are the previous names, including wildcards.
func Losing(f *farm.Farm, was, is *Set, names []string) []Use {
	lost := is.Without(names)
	services := f.Services()
	if len(services) == 0 {
		if len(lost) == 0 {
			return nil
		}
		return []Use{{Farm: f.Name, Names: lost}}
	}
	var out []Use
	for i := range services {
		s := &services[i]
		matched := lost
		if host, one := Host(s); one {
			matched = nil
			if was.Covers(host) && !is.Covers(host) {
				matched = []string{host}
			}
		} else if s.VHost != "" {
			matched = matching(s.VHost, lost)
		}
		if len(matched) > 0 {
			out = append(out, Use{Farm: f.Name, Service: s.Name, Names: matched})
		}
	}
	return out
}

// Host returns the host that a service matches, if it matches a single one.
func Host(s *farm.Service) (host string, one bool) {
	if !farm.IsHostName(s.VHost) {
		return "", false
	}
	host, _, _ = strings.Cut(strings.ReplaceAll(s.VHost, `\`, ""), ":")
	return strings.ToLower(strings.TrimSuffix(host, ".")), host != ""
}

// matching returns the names that an expression for hosts matches. For a wildcard it tries
// some names.
func matching(vhost string, names []string) []string {
	re, err := regexp.Compile("(?i)^(?:" + farm.HostPattern(vhost) + ")")
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range names {
		for _, label := range []string{"www", "a", "x1"} {
			if re.MatchString(strings.Replace(name, "*", label, 1)) {
				out = append(out, name)
				break
			}
		}
	}
	return out
}
