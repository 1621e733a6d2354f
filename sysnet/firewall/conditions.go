package firewall

import (
	"net/netip"
	"strings"
)

// The conditions both kinds of rules have, for the first packet of a client from
// another machine.

// port compares the listener's.
func (l Listener) port(first, last uint64) fit {
	p := uint64(l.Addr.Port())
	return fitIf(first <= p && p <= last)
}

// protocol compares the name or number of a transport protocol.
func (l Listener) protocol(is string) fit {
	switch is {
	case "all", "0":
		return always
	case "6":
		is = "tcp"
	case "17":
		is = "udp"
	}
	return fitIf(is == l.Network)
}

// within compares the listener's address with a range; one that stands for all
// addresses may be in any.
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

// inside is within for the text of an address or prefix.
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

// comesBy compares the interface clients come by: loopback for addresses of
// loopback, any other for the rest.
func (l Listener) comesBy(name string) fit {
	switch {
	case strings.ContainsAny(name, "*+"):
		return perhaps
	case l.Addr.Addr().IsLoopback():
		return fitIf(name == "lo")
	case name == "lo":
		return never
	}
	return perhaps
}

// newClient compares the state of the connection a packet belongs to.
func newClient(state string) fit {
	switch strings.ToLower(state) {
	case "new":
		return always
	case "established", "related", "invalid":
		return never
	}
	return perhaps
}

// toHere compares the type of an address that is ours.
func toHere(kind string) fit {
	switch strings.ToLower(kind) {
	case "local":
		return always
	case "unicast", "broadcast", "multicast", "anycast", "blackhole", "unreachable", "prohibit":
		return never
	}
	return perhaps
}
