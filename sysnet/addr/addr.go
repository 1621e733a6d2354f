// Package addr lists the addresses of this machine and checks whether a farm can use one.
// It only reads. Each call queries the kernel in the network namespace of the calling
// thread.
package addr

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Local is one address of an interface.
type Local struct {
	Addr      netip.Addr
	Bits      int // length of the network's prefix
	Interface string
	Index     int
	// Up reports that the interface is enabled and has a carrier.
	Up bool
	// Usable is false during duplicate address detection (RFC 4862 §5.4). It stays false
	// if a duplicate was found; Duplicate is then true.
	Usable    bool
	Duplicate bool
	// Ethernet reports that the interface has a MAC address, Port that it belongs to a
	// bridge or bond, which receives its packets.
	Ethernet, Port bool
}

var (
	// ErrNotLocal means that no interface has the address.
	ErrNotLocal = errors.New("address not local")
	// ErrDown means that the interface of the address is down.
	ErrDown = errors.New("interface down")
	// ErrDuplicate means that another machine has the address, or that detection is in
	// progress.
	ErrDuplicate = errors.New("address not usable")
)

// List returns all addresses of all interfaces, ordered by interface.
func List() ([]Local, error) {
	links, err := whole(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	addrs, err := whole(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, unix.AF_UNSPEC) })
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	var all []Local
	for _, a := range addrs {
		at := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Attrs().Index == a.LinkIndex })
		ip, ok := netip.AddrFromSlice(a.IP)
		if at < 0 || !ok {
			continue
		}
		link := links[at].Attrs()
		bits, _ := a.Mask.Size()
		all = append(all, Local{
			Addr: ip.Unmap(), Bits: bits, Interface: link.Name, Index: link.Index,
			Up:        link.Flags&net.FlagUp != 0 && link.OperState != netlink.OperDown && link.OperState != netlink.OperLowerLayerDown,
			Usable:    a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 || a.Flags&unix.IFA_F_OPTIMISTIC != 0,
			Duplicate: a.Flags&unix.IFA_F_DADFAILED != 0,
			Ethernet:  len(link.HardwareAddr) == 6 && link.Flags&net.FlagLoopback == 0,
			Port:      isPort(links, link),
		})
	}
	return all, nil
}

// isPort reports whether a link belongs to a bridge or bond.
func isPort(links []netlink.Link, link *netlink.LinkAttrs) bool {
	return link.MasterIndex != 0 && slices.ContainsFunc(links, func(l netlink.Link) bool {
		kind := l.Type()
		return l.Attrs().Index == link.MasterIndex && (kind == "bridge" || kind == "bond" || kind == "team" || kind == "openvswitch")
	})
}

// Check reports whether a farm can use the address, i.e. whether an interface that is up
// has it. The unspecified address always passes. Errors are readable sentences and wrap
// ErrNotLocal, ErrDown or ErrDuplicate.
func Check(vip netip.Addr) (Local, error) {
	all, err := List()
	if err != nil {
		return Local{}, err
	}
	return Find(all, vip)
}

// Find is Check for addresses returned by List; it serves callers that check many
// addresses.
func Find(all []Local, vip netip.Addr) (Local, error) {
	if vip.IsUnspecified() {
		return Local{Addr: vip, Up: true, Usable: true}, nil
	}
	err := fmt.Errorf("no interface of this machine has the address %s: %w", vip, ErrNotLocal)
	for _, l := range all {
		// The kernel treats all of 127.0.0.0/8 as local.
		loopback := vip.Is4() && vip.IsLoopback() && l.Addr.Is4() && l.Addr.IsLoopback()
		switch {
		case l.Addr != vip && !loopback:
		case !l.Up:
			err = fmt.Errorf("interface %s, which has the address %s, is down: %w", l.Interface, vip, ErrDown)
		case l.Duplicate:
			err = fmt.Errorf("another machine has the address %s too: %w", vip, ErrDuplicate)
		case !l.Usable:
			err = fmt.Errorf("whether another machine has the address %s is being found out: %w", vip, ErrDuplicate)
		default:
			return l, nil
		}
	}
	return Local{}, err
}

// whole repeats the dump if the kernel reports that the table changed meanwhile.
func whole[T any](ask func() ([]T, error)) (all []T, err error) {
	for range 5 {
		if all, err = ask(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return nil, err
}

// Reached returns the reason why packets to vip do not reach sockets of this machine. It
// returns nil if they do, or if this is unknown. all is the result of List. An address
// without an interface may still be local through a route (AnyIP).
func Reached(all []Local, vip netip.Addr) error {
	_, err := Find(all, vip)
	if !errors.Is(err, ErrNotLocal) {
		return err
	}
	routes, lookup := netlink.RouteGet(vip.AsSlice())
	if lookup == nil && slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Type == unix.RTN_LOCAL }) {
		return nil
	}
	return err
}
