package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
)

// Guard reports why an address is not allowed; nil allows it. It checks every address of a
// name directly before the connection, so a later change of the name's addresses does not
// bypass it. Addresses of Allow are allowed by every Guard.
type Guard func(addr netip.Addr) error

// allowed are the prefixes of Allow.
var allowed atomic.Pointer[[]netip.Prefix]

// Allow sets the addresses that every Guard allows in this process: local services that the
// operator wants to be reachable.
func Allow(list []netip.Prefix) { allowed.Store(&list) }

func isAllowed(addr netip.Addr) bool {
	list := allowed.Load()
	if list == nil {
		return false
	}
	for _, p := range *list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// ParseAllowed reads a list for Allow: addresses and prefixes separated by commas.
func ParseAllowed(text string) (list []netip.Prefix, err error) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		p, err := netip.ParsePrefix(word)
		if addr, bad := netip.ParseAddr(word); bad == nil {
			p, err = netip.PrefixFrom(addr.WithZone(""), addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a prefix, e.g. 127.0.0.1 or 127.0.0.0/8", word)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// Remote is the guard for hosts from operators, e.g. of a webhook: private networks are
// allowed, this machine and the metadata services of clouds are not.
func Remote(addr netip.Addr) error {
	if err := Reachable(addr); err != nil {
		return err
	}
	for _, at := range Meanings(addr) {
		if at.IsLoopback() || thisHost.Contains(at) {
			return fmt.Errorf("%s is this machine: `sluice run --outbound-allow %s` allows it", addr, addr)
		}
	}
	return nil
}

// Reachable is Remote that also allows this machine, for services that commonly run on the
// same machine as Sluice.
func Reachable(addr netip.Addr) error {
	for _, at := range Meanings(addr) {
		switch {
		case at.IsLinkLocalUnicast() || at.IsMulticast() || at.IsUnspecified():
			return fmt.Errorf("%s is a link-local, multicast or unspecified address: no server is there", addr)
		case isMetadata(at):
			return fmt.Errorf("%s is the metadata service of a cloud: it is not asked", addr)
		}
	}
	return nil
}

// Public is the guard for hosts from unknown sources, e.g. in a certificate: addresses that
// are not global are refused.
func Public(addr netip.Addr) error {
	for _, at := range Meanings(addr) {
		if !at.IsGlobalUnicast() || at.IsPrivate() || isMetadata(at) || inAny(privateRanges, at) {
			return fmt.Errorf("%s is a private address", addr)
		}
	}
	return nil
}

var (
	thisHost      = netip.MustParsePrefix("0.0.0.0/8")
	privateRanges = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
		"64:ff9b:1::/48", "2002::/16", "2001::/32", "fec0::/10", "::/96")
	// metadata are the addresses of cloud metadata services with secrets of machines,
	// besides link-local ones: AWS, GCP, Azure, Alibaba, Oracle.
	metadata = prefixes("fd00:ec2::254/128", "fd20:ce::254/128", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32")
)

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func inAny(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

func isMetadata(addr netip.Addr) bool { return inAny(metadata, addr) }

// embeddings are the IPv6 prefixes that contain an IPv4 address, and its position:
// IPv4-compatible (RFC 4291), NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056).
var embeddings = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// teredo addresses contain the address of a server, and the address of a client with its
// bits inverted (RFC 4380).
var teredo = netip.MustParsePrefix("2001::/32")

// Meanings returns the addresses that a connection to addr may lead to: itself, and the
// IPv4 addresses that a translator or a tunnel extracts from it.
func Meanings(addr netip.Addr) []netip.Addr {
	addr = addr.Unmap().WithZone("")
	out := []netip.Addr{addr}
	if addr.Is4() {
		return out
	}
	b := addr.As16()
	if teredo.Contains(addr) {
		return append(out, netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	for _, e := range embeddings {
		if e.prefix.Contains(addr) && addr != netip.IPv6Loopback() && addr != netip.IPv6Unspecified() {
			out = append(out, netip.AddrFrom4([4]byte(b[e.at:e.at+4])))
		}
	}
	// ISATAP (RFC 5214) has it after an interface identifier of its own.
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		out = append(out, netip.AddrFrom4([4]byte(b[12:])))
	}
	return out
}

// CheckHost is the guard for a host that is resolved elsewhere or later. It checks addresses,
// and of names only the names of this machine.
func (g Guard) CheckHost(host string) error {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return g.check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.check(addr)
	}
	return nil
}

func (g Guard) check(addr netip.Addr) error {
	if g == nil || isAllowed(addr.Unmap().WithZone("")) {
		return nil
	}
	return g(addr)
}

// Dialer returns a dialer that checks every address with the guard.
func (g Guard) Dialer(d net.Dialer) *net.Dialer {
	d.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errors.New("the address cannot be judged, so it is not asked")
		}
		return g.check(at.Addr())
	}
	return &d
}

// guarded dials with the guard, except for connections to proxies, which the operator has
// chosen.
func (o Options) guarded(used *proxies) func(ctx context.Context, network, address string) (net.Conn, error) {
	free := &net.Dialer{Timeout: o.Timeout}
	direct := o.Guard.Dialer(net.Dialer{Timeout: o.Timeout})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if used.has(address) {
			return free.DialContext(ctx, network, address)
		}
		return direct.DialContext(ctx, network, address)
	}
}
