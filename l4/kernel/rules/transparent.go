package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/route"
)

// transparent marks what backends answer to addresses of clients, if a socket of
// the engine waits for it: by that mark it is taken for local (sysnet/route).
func (c *compiler) transparent() {
	backends := map[*family][]string{}
	for i := range c.in.Transparent {
		f := &c.in.Transparent[i]
		for j := range f.L4.Backends {
			addr := f.L4.Backends[j].Addr.Unmap()
			backends[FamilyOf(addr)] = append(backends[FamilyOf(addr)], addr.String())
		}
	}
	var rules []string
	for _, f := range []*family{V4, V6} {
		list := slices.Compact(slices.Sorted(slices.Values(backends[f])))
		if len(list) > 0 {
			rules = append(rules, fmt.Sprintf("%s saddr { %s } meta l4proto tcp socket transparent 1 meta mark set 0x%08x", f.ip, strings.Join(list, ", "), route.Mark))
		}
	}
	if len(rules) > 0 {
		c.rules.ChainOf(InetID("transparent"), func() *nft.Chain {
			return &nft.Chain{Hook: "type filter hook prerouting priority -150; policy accept;", Rules: rules}
		})
	}
}

func FamilyOf(a netip.Addr) *family {
	if a.Is4() {
		return V4
	}
	return V6
}
