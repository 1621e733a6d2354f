// Package route delivers packets for foreign addresses to local sockets: responses of
// backends to clients whose address the engine has used as its source (transparent mode).
//
// It takes two objects per address family: a rule that matches the mark of such packets,
// and a table in which every address is local. The packet filter (l4/kernel, chain
// transparent) sets the mark only on packets for which a local socket exists. Rules and
// tables have fixed numbers, so no state is stored, and the next Keep finds and deletes
// leftovers of a crash.
package route

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// priority is that of our rules: after the local table and before all others.
const priority = 5190

// Mark returns the mark of packets for sockets of this instance.
func Mark() uint32 { return 0x5d00_0001 + uint32(claim.Own()) }

// table returns the number of our routing table.
func table() int { return 23901 + int(claim.Own()) }

// Object is a rule or route in the kernel.
type Object struct{ Name, Detail string }

// Keep makes packets with Mark local in the wanted families, and reverts it in the
// others.
func Keep(v4, v6 bool) error {
	var problems []error
	for family, wanted := range map[int]bool{unix.AF_INET: v4, unix.AF_INET6: v6} {
		do := remove
		if wanted {
			do = set
		}
		if err := do(family); err != nil {
			problems = append(problems, fmt.Errorf("routing answers to clients' addresses: %w", err))
		}
	}
	return errors.Join(problems...)
}

// Lost reports whether a wanted rule is missing. It changes nothing, unlike Keep, which notifies
// programs that follow routes. So it may be called often.
func Lost(v4, v6 bool) bool {
	for family, wanted := range map[int]bool{unix.AF_INET: v4, unix.AF_INET6: v6} {
		if !wanted {
			continue
		}
		if rules, err := ours(family); err == nil && len(rules) == 0 {
			return true
		}
	}
	return false
}

func rule(family int) *netlink.Rule {
	r := netlink.NewRule()
	mask := ^uint32(0)
	r.Family, r.Table, r.Priority, r.Mark, r.Mask = family, table(), priority, Mark(), &mask
	return r
}

func local(family int) (*netlink.Route, error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	all := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	if family == unix.AF_INET6 {
		all = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	return &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: all, Table: table(), Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST, Family: family}, nil
}

// set adds the route before the rule. Both are required.
func set(family int) error {
	r, err := local(family)
	if err != nil {
		return err
	}
	if err := netlink.RouteReplace(r); err != nil {
		return err
	}
	rules, err := ours(family)
	if err != nil || len(rules) > 0 {
		return err
	}
	return netlink.RuleAdd(rule(family))
}

func remove(family int) error {
	rules, err := ours(family)
	if err != nil {
		return absent(err)
	}
	for i := range rules {
		if err := netlink.RuleDel(&rules[i]); err != nil {
			return absent(err)
		}
	}
	routes, err := routes(family)
	for i := range routes {
		if err := netlink.RouteDel(&routes[i]); err != nil {
			return absent(err)
		}
	}
	return absent(err)
}

// absent returns nil for errors that mean the object does not exist, else err.
func absent(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ours returns the rules with our numbers.
func ours(family int) ([]netlink.Rule, error) {
	all, err := netlink.RuleList(family)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, err
	}
	var found []netlink.Rule
	for _, r := range all {
		if r.Table == table() && r.Priority == priority && r.Mark == Mark() {
			r.Family = family
			found = append(found, r)
		}
	}
	return found, nil
}

func routes(family int) ([]netlink.Route, error) {
	all, err := netlink.RouteListFiltered(family, &netlink.Route{Table: table()}, netlink.RT_FILTER_TABLE)
	if errors.Is(err, netlink.ErrDumpInterrupted) {
		err = nil
	}
	return all, err
}

// List returns our objects in the kernel.
func List() ([]Object, error) {
	var out []Object
	var problems []error
	for family, name := range map[int]string{unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6"} {
		rules, err := ours(family)
		problems = append(problems, absent(err))
		if len(rules) > 0 {
			out = append(out, Object{fmt.Sprintf("rule %d %s", priority, name), fmt.Sprintf("packets with mark %#x are looked up in table %d", Mark(), table())})
		}
		all, err := routes(family)
		problems = append(problems, absent(err))
		if len(all) > 0 {
			out = append(out, Object{fmt.Sprintf("table %d %s", table(), name), "all addresses are local"})
		}
	}
	return out, errors.Join(problems...)
}
