package table

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/sluicelb/sluice/l7/http1"
)

// maxHops bounds the X-Forwarded-For addresses examined.
const maxHops = 16

// RealClient returns the client that sent the request. This is the peer or, if the peer is
// trusted, the last X-Forwarded-For address that is not a trusted peer. The search stops at
// the first invalid address, because an untrusted party wrote it. Addresses from the field
// have no port.
func RealClient(f *Farm, peer netip.AddrPort, r *http1.Request) netip.AddrPort {
	if len(f.Trusted) == 0 || r == nil || !Trusts(f.Trusted, peer.Addr()) {
		return peer
	}
	client := peer
	hops := 0
	for i := r.NumFields - 1; i >= 0; i-- {
		if r.Fields[i].Known != http1.KnownXForwardedFor {
			continue
		}
		for rest := r.Value(i); len(rest) > 0; hops++ {
			at := bytes.LastIndexByte(rest, ',')
			addr, ok := parseHop(rest[at+1:])
			if rest = rest[:max(at, 0)]; !ok || hops == maxHops {
				return client
			}
			client = netip.AddrPortFrom(addr, 0)
			if !Trusts(f.Trusted, addr) {
				return client
			}
		}
	}
	return client
}

// parseHop parses one address with an optional port.
func parseHop(b []byte) (netip.Addr, bool) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || len(b) > 64 {
		return netip.Addr{}, false
	}
	text := unsafe.String(&b[0], len(b)) // a view, not retained
	addr, err := netip.ParseAddr(text)
	if err != nil {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = at.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// Trusts reports whether a peer is in one of the networks.
func Trusts(networks []netip.Prefix, peer netip.Addr) bool {
	for _, p := range networks {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}
