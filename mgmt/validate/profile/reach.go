package profile

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// checkResolve checks the requirements of a backend whose name stands for several servers.
func checkResolve(path string, b *farm.Backend) *field.Error {
	switch {
	case b.Resolve == farm.ResolveFirst:
		return nil
	case !b.Named():
		return &field.Error{Path: path, Field: "resolve", Message: fmt.Sprintf("resolve %s is allowed only with a host name as ip, got %s; leave resolve out, or write the name", b.Resolve, b.Host)}
	case b.Resolve == farm.ResolveService && !strings.HasPrefix(b.Host, "_"):
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip must be the name of an SRV record with resolve srv, as _http._tcp.example.com, got %s; set resolve all for the addresses of a host", field.Show(b.Host))}
	case len(b.Sessions) > 0 && b.Of == 0:
		return &field.Error{Path: path, Field: "sessions", Message: fmt.Sprintf("sessions are of one server, and with resolve %s this backend stands for several; remove the static sessions, or set resolve first", b.Resolve)}
	}
	return nil
}

// OwnMark explains why a mark is not available, or returns "".
func OwnMark(mark uint32) string {
	if !marks.Own(mark) {
		return ""
	}
	return fmt.Sprintf("must not be from %[1]d to %[2]d (%#[1]x to %#[2]x), by which farms themselves are told apart, got %[3]d", marks.FirstOwn, marks.LastOwn, mark)
}

// Reach checks mark and address of a backend beyond their form, for all profiles. It
// rejects marks used by farms, broadcast addresses of local networks, and another IP version
// than the VIP's unless the farm can mix them. For a host name it checks the resolved
// address; addr is invalid if it is unresolved.
func Reach(path string, f *farm.Farm, b *farm.Backend, local []netip.Prefix) (addr netip.Addr,
	problem *field.Error) {
	if reason := OwnMark(b.Mark); reason != "" {
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
	return addr, server(path, f, b, addr, local)
}

// addressOf returns the address to check. A name of a gslb farm may have an IPv4 address in a
// record of type AAAA, as ::ffff:192.0.2.1; the user cannot write it differently.
func addressOf(f *farm.Farm, b *farm.Backend, addr netip.Addr) netip.Addr {
	if _, err := netip.ParseAddr(b.Host); err != nil && f.Carries() == farm.TrafficQueries {
		return addr.Unmap()
	}
	return addr
}

// server checks the address of a backend for all profiles.
func server(path string, f *farm.Farm, b *farm.Backend, addr netip.Addr, local []netip.Prefix) *field.Error {
	if problem := format.Server(addressOf(f, b, addr), local); problem != "" {
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip must be the address of one server, got %s: %s", HostAndAddr(b.Host, addr), problem)}
	}
	if f.VIP.IsValid() && addr.Is4() != f.VIP.Is4() && !f.MixesVersions() {
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip must be of the same IP version as the vip (%s), got %s: %s", f.VIP, HostAndAddr(b.Host, addr), Of(f).OneVersion(f))}
	}
	if problem := source(b.Source, addr, local); problem != "" {
		return &field.Error{Path: path, Field: "source", Message: problem}
	}
	return nil
}

// source checks a source address beyond its form.
func source(source, addr netip.Addr, local []netip.Prefix) string {
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

func HostAndAddr(host string, addr netip.Addr) string {
	if host == addr.String() {
		return host
	}
	return fmt.Sprintf("%s (%s)", field.Show(host), addr)
}

// IsOwn reports whether a listener on vip receives connections to addr.
func IsOwn(vip, addr netip.Addr, local []netip.Prefix) bool {
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

func CanonHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
