package sysctl

import (
	"path/filepath"
	"strings"
)

// Setting is a value that shall hold.
type Setting struct {
	// Name is the path below /proc/sys/net, "ipv4/ip_forward".
	Name  string
	Value string
	// When, if set, is asked whether the setting is needed at all; was gives the
	// value each name had before anything was set here, "" when there is none.
	When func(was func(name string) string) bool
	// Optional settings are left out where the kernel does not know the name.
	Optional bool
}

// Forward makes the kernel pass packets on between interfaces. An interface
// that took its IPv6 routes from router advertisements goes on doing so
// (accept_ra 2), which has to be said before forwarding begins.
func Forward(v4, v6 bool) []Setting {
	var all []Setting
	if v4 {
		all = append(all, Setting{Name: "ipv4/ip_forward", Value: "1"})
	}
	if !v6 {
		return all
	}
	interfaces, _ := filepath.Glob(root + "ipv6/conf/*/accept_ra")
	for _, path := range interfaces {
		name := strings.TrimPrefix(path, root)
		if name == "ipv6/conf/all/accept_ra" || name == "ipv6/conf/default/accept_ra" {
			continue
		}
		all = append(all, Setting{Name: name, Value: "2", Optional: true, When: func(was func(string) string) bool { return was(name) == "1" }})
	}
	return append(all, Setting{Name: "ipv6/conf/all/forwarding", Value: "1", Optional: true})
}

// Counters makes the kernel count packets and bytes of tracked connections; it
// holds for those that begin afterwards.
func Counters() Setting {
	return Setting{Name: "netfilter/nf_conntrack_acct", Value: "1", Optional: true}
}

// ExplicitHelpers keeps old kernels from assigning helpers by port on their
// own; newer ones never do and have no such name.
func ExplicitHelpers() Setting {
	return Setting{Name: "netfilter/nf_conntrack_helper", Value: "0", Optional: true}
}

// Loose lets packets in on an interface that answers would not leave by, as
// long as some route leads to their source (RFC 3704 §2.4). It changes a strict
// filter only: the kernel acts on the higher value of the interface and of all.
func Loose(iface string) Setting {
	own, all := "ipv4/conf/"+iface+"/rp_filter", "ipv4/conf/all/rp_filter"
	return Setting{Name: own, Value: "2", Optional: true, When: func(was func(string) string) bool {
		return max(was(own), was(all)) == "1"
	}}
}
