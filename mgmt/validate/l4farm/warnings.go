package l4farm

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// warnings adds warnings about settings of an l4xnat farm without effect.
func warnings(f *farm.Farm, add func(field, text string)) {
	l := f.L4
	Document.IdleWarnings(f, nil, add)
	if l.Protocol.Helper() && untracked(l.NAT) {
		add("protocol", fmt.Sprintf("protocol %s acts as %s: helpers read tracked connections, and nattype %s has none", l.Protocol, transportWords(l.Protocol), l.NAT))
	}
}

func transportWords(p farm.L4Protocol) string {
	list := field.Texts(p.Transports())
	if len(list) == 1 {
		return list[0]
	}
	return list[0] + " and " + list[1]
}

// backendWarnings adds warnings about one backend.
func backendWarnings(f *farm.Farm, b *farm.Backend, local []netip.Prefix, add func(field, text string)) {
	l := f.L4
	if l.NAT == farm.NATDirect && b.Port != 0 && (l.PortCount() != 1 || l.Ports[0].First != b.Port) {
		add("port", fmt.Sprintf("port %d has no effect: nattype dsr leaves packets as they are, backends get the port the client used", b.Port))
	}
	BackendDocument.IdleWarnings(b, Document.Lookup(f), add)
	if !b.Addr.IsValid() {
		return
	}
	if untracked(l.NAT) && len(local) > 0 && !slices.ContainsFunc(local,
		func(p netip.Prefix) bool { return p.Masked().Contains(b.Addr) }) {
		add("ip", fmt.Sprintf("ip %s is in no network of this machine: nattype %s sends packets to the MAC address of a neighbour", b.Addr, l.NAT))
	}
	if f.InKernel() && b.Addr.IsLoopback() && !f.VIP.IsLoopback() {
		add("ip", fmt.Sprintf("ip %s is of this machine, and its kernel forwards no packets of others there; use another of its addresses", b.Addr))
	}
}

// priorityWarning returns a text if the backend at position i of an l4xnat farm can never
// be used, for any set of unusable backends (farm.Unusable).
func priorityWarning(list []farm.Backend, i int) string {
	own, most := list[i].EffectivePriority(), topLevel(list)
	if own <= most {
		return ""
	}
	return fmt.Sprintf("priority %d will never be used: with the priorities of the other backends at most %d is reached", own, most)
}

// topLevel returns the highest level that can be reached. Each number of unusable
// backends of a level leads to another level.
func topLevel(list []farm.Backend) int {
	count := map[int]int{}
	for i := range list {
		count[list[i].EffectivePriority()]++
	}
	top, reached := 1, map[int]bool{1: true}
	for level := 1; level <= top; level++ {
		for n := 1; reached[level] && n <= count[level]; n++ {
			reached[level+n] = true
			top = max(top, level+n)
		}
	}
	return top
}
