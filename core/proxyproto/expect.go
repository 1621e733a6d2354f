package proxyproto

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Expected is what is expected in front of a connection.
type Expected uint8

// What may be expected.
const (
	Nothing  Expected = iota // no header, or no more: what looks like one is bytes like any other
	Optional                 // perhaps a header
	Required                 // a header
	Refused                  // a header, of somebody who may not send one
)

// Expect is what a farm expects of a peer: only who is trusted may say for whom
// it connects.
func Expect(in farm.ProxyIn, trusted []netip.Prefix, peer netip.Addr) Expected {
	if in != farm.ProxyInOptional && in != farm.ProxyInRequired {
		return Nothing
	}
	for _, p := range trusted {
		switch {
		case !p.Contains(peer):
		case in == farm.ProxyInRequired:
			return Required
		default:
			return Optional
		}
	}
	if in == farm.ProxyInRequired {
		return Refused
	}
	return Nothing
}
