package table

import (
	"net/netip"
)

func Trusts(networks []netip.Prefix, peer netip.Addr) bool {
	for _, p := range networks {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}
