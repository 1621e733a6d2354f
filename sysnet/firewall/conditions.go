package firewall

import (
	"net/netip"
	"strings"
)

// The conditions common to iptables and nft, evaluated for the first packet of a new
// client from another machine.

// port reports whether the port of the listener is in first … last. Backends without a
// port get that of the client's packet, which matches perhaps.
func (l Listener) port(first, last uint64) fit {
	p := uint64(l.Addr.Port())
	if p == 0 && l.path != local {
		return perhaps
	}
	return fitIf(first <= p && p <= last)
}

// protocol compares the listener's transport protocol with a name or number.
func (l Listener) protocol(is string) fit {
	switch is {
	case "all", "0":
		return always
	case "6":
		is = "tcp"
	case "17":
		is = "udp"
	case "132":
		is = "sctp"
	}
	return fitIf(is == l.Network)
}

// within reports whether the listener's address is in first … last. A wildcard address
// matches perhaps.
func (l Listener) within(first, last netip.Addr) fit {
	at := l.Addr.Addr()
	switch {
	case first.Is4() != at.Is4():
		return never
	case at.IsUnspecified():
		return perhaps
	}
	return fitIf(first.Compare(at) <= 0 && at.Compare(last) <= 0)
}

// inside is within for an address or prefix in text form.
func (l Listener) inside(text string) fit {
	if a, err := netip.ParseAddr(text); err == nil {
		return l.within(a, a)
	}
	p, err := netip.ParsePrefix(text)
	switch at := l.Addr.Addr(); {
	case err != nil:
		return perhaps
	case p.Bits() == 0:
		return fitIf(p.Addr().Is4() == at.Is4())
	case at.IsUnspecified() && p.Addr().Is4() == at.Is4():
		return perhaps
	default:
		return fitIf(p.Contains(at))
	}
}

// comesBy compares the incoming interface: lo for loopback addresses, another one for all
// others.
func (l Listener) comesBy(name string) fit {
	switch {
	case strings.ContainsAny(name, "*+"):
		return perhaps
	case l.path == local && l.Addr.Addr().IsLoopback():
		return fitIf(name == "lo")
	case name == "lo":
		return never
	}
	return perhaps
}

// newClient compares a conntrack state or status with that of a new client.
func (l Listener) newClient(state string) fit {
	switch strings.ToLower(state) {
	case "new":
		return fitIf(l.path != untracked)
	case "untracked":
		if l.path == local {
			return perhaps // the operator may have exempted it
		}
		return fitIf(l.path == untracked)
	case "established", "related", "invalid":
		return never
	case "dnat":
		return fitIf(l.path == rewritten)
	}
	return perhaps
}

// destination compares an address type with that of the destination.
func (l Listener) destination(kind string) fit {
	switch kind = strings.ToLower(kind); kind {
	case "local", "unicast":
		return fitIf((kind == "local") == (l.path == local))
	case "broadcast", "multicast", "anycast", "blackhole", "unreachable", "prohibit":
		return never
	}
	return perhaps
}
