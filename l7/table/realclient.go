package table

import (
	"bytes"
	"net/netip"
	"unsafe"

	"github.com/sluicelb/sluice/l7/http1"
)

// maxHops bounds the addresses of X-Forwarded-For that are looked at.
const maxHops = 16

// RealClient is the client that sent the request: the peer or, if that is trusted, the last
// address of X-Forwarded-For that is not one of a trusted peer's. What follows
// the first text that is no address was written by who cannot be trusted with
// more. Addresses taken from there have no port.
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

// parseHop reads one address, which may have a port.
func parseHop(b []byte) (netip.Addr, bool) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || len(b) > 64 {
		return netip.Addr{}, false
	}
	text := unsafe.String(&b[0], len(b)) // a view: nothing keeps it
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
