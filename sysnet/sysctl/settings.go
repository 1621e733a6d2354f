package sysctl

import (
	"path/filepath"
	"strings"
)

// Setting is a required value.
type Setting struct {
	// Name is the path below /proc/sys/net, "ipv4/ip_forward".
	Name  string
	Value string
	// When, if set, reports whether the setting is needed. was returns the value of a
	// name before Sluice set anything, or "" if the name does not exist.
	When func(was func(name string) string) bool
	// Optional settings are skipped if the kernel does not have the name.
	Optional bool
}

// Forward makes the kernel forward packets between interfaces. Interfaces that process
// router advertisements continue to do so (accept_ra 2). That must be set before
// forwarding.
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

// Counters makes the kernel count packets and bytes of tracked connections. It applies to
// new connections.
func Counters() Setting {
	return Setting{Name: "netfilter/nf_conntrack_acct", Value: "1", Optional: true}
}

// ExplicitHelpers prevents old kernels from assigning helpers by port. Newer kernels
// never do and lack the sysctl.
func ExplicitHelpers() Setting {
	return Setting{Name: "netfilter/nf_conntrack_helper", Value: "0", Optional: true}
}

// Loose makes an interface accept packets whose source is routed through another
// interface (RFC 3704 §2.4). It changes only a strict filter: the kernel uses the maximum
// of the interface's value and that of all.
func Loose(iface string) Setting {
	own, all := "ipv4/conf/"+iface+"/rp_filter", "ipv4/conf/all/rp_filter"
	return Setting{Name: own, Value: "2", Optional: true, When: func(was func(string) string) bool {
		return max(was(own), was(all)) == "1"
	}}
}
