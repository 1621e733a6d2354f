package proxyproto

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Expected says whether a header must precede a connection.
type Expected uint8

const (
	Nothing  Expected = iota // no header, or none any more: bytes that look like one are payload
	Optional                 // an optional header
	Required                 // a header
	Refused                  // a header is required, but the peer is not trusted to send one
)

// Expect returns what a farm expects of a peer. Only trusted peers may send a header.
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
