package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// l4Warnings adds the directives of an l4xnat farm that have no effect as it is:
// mostly those that what carries it does not know.
func l4Warnings(f *farm.Farm, add func(field, text string)) {
	l := f.L4
	var kernel, tracked, userspace, udp, noTracking string
	if path, why := f.Carrier(); path == farm.DataPathKernel {
		kernel = fmt.Sprintf("the kernel carries the farm (%s)", why)
	} else {
		userspace = "userspace writes no lines of the kernel's log; see log_sink"
	}
	if l.Protocol == farm.L4UDP {
		udp = "protocol udp makes no connections"
	}
	if tracked = kernel; untracked(l.NAT) {
		tracked = "" // these time out flows of their own
		noTracking = fmt.Sprintf("nattype %s counts no connections", l.NAT)
	}
	for _, w := range []struct {
		field  string
		set    bool
		reason string
	}{
		{"contimeout", l.ConnectTimeout != 0, cmp.Or(kernel, udp)},
		{"idle_timeout", l.IdleTimeout != 0, tracked},
		{"resurrectime", l.ResurrectTime != 0, kernel},
		{"grace", l.StopGrace != 0, noTracking},
		{"maxconnections", l.MaxConnections != 0, noTracking},
		{"log_limit", l.Logs && l.LogLimit != 0, userspace},
		{"log_prefix", l.Logs && l.LogPrefix != "", userspace},
		{"log_fields", l.Logs && len(l.AccessLog.Fields) > 0, kernel},
		{"log_sample", l.Logs && l.AccessLog.Sample != 0, kernel},
		{"log_sink", l.Logs && l.AccessLog.Sink != "", kernel},
		{"trusted", len(l.Trusted) > 0 && !on(l.ProxyIn, farm.ProxyInOff), "proxyprotocol_in is off"},
	} {
		if w.set && w.reason != "" {
			add(w.field, fmt.Sprintf("%s has no effect: %s", w.field, w.reason))
		}
	}
	if l.Protocol.Helper() && untracked(l.NAT) {
		add("protocol", fmt.Sprintf("protocol %s acts as %s: helpers read tracked connections, and nattype %s has none", l.Protocol, transportWords(l.Protocol), l.NAT))
	}
}

func transportWords(p farm.L4Protocol) string {
	list := texts(p.Transports())
	if len(list) == 1 {
		return list[0]
	}
	return list[0] + " and " + list[1]
}

// l4BackendWarnings adds what has no effect or cannot work of one backend.
func l4BackendWarnings(f *farm.Farm, b *farm.Backend, local []netip.Prefix, add func(field, text string)) {
	l := f.L4
	if l.NAT == farm.NATDirect && b.Port != 0 && (l.PortCount() != 1 || l.Ports[0].First != b.Port) {
		add("port", fmt.Sprintf("port %d has no effect: nattype dsr leaves packets as they are, backends get the port the client used", b.Port))
	}
	if untracked(l.NAT) && b.ConnLimit != 0 {
		add("max_conns", fmt.Sprintf("max_conns has no effect: nattype %s counts no connections", l.NAT))
	}
	if !b.Addr.IsValid() {
		return
	}
	if untracked(l.NAT) && len(local) > 0 && !slices.ContainsFunc(local, func(p netip.Prefix) bool { return p.Masked().Contains(b.Addr) }) {
		add("ip", fmt.Sprintf("ip %s is in no network of this machine: nattype %s sends packets to the MAC address of a neighbour", b.Addr, l.NAT))
	}
	if f.InKernel() && b.Addr.IsLoopback() && !f.VIP.IsLoopback() {
		add("ip", fmt.Sprintf("ip %s is of this machine, and its kernel forwards no packets of others there; use another of its addresses", b.Addr))
	}
}

// l4PriorityWarning returns a text when the backend at position i of an l4xnat
// farm can never be used, whichever backends are unusable (farm.Unusable).
func l4PriorityWarning(list []farm.Backend, i int) string {
	own := list[i].EffectivePriority()
	if own == 1 {
		return ""
	}
	most := l4TopLevel(list)
	if own <= most {
		return ""
	}
	return fmt.Sprintf("priority %d will never be used: with the priorities of the other backends at most %d is reached", own, most)
}

// l4TopLevel is the highest level the backends can open: each unusable number of
// a level's backends leads to another one.
func l4TopLevel(list []farm.Backend) int {
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
