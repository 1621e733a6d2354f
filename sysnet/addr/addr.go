// Package addr tells which addresses this machine has, and whether one of them
// can be the address of a farm. It only looks; the kernel is asked anew each
// time, in the network namespace of the calling thread.
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
	// Up reports that the interface is switched on and has a carrier.
	Up bool
	// Usable is false while IPv6 looks for another owner of the address
	// (RFC 4862 §5.4), and for good when it found one: then Duplicate is true.
	Usable    bool
	Duplicate bool
	// Ethernet reports that the interface has a MAC address, Port that it belongs
	// to a bridge or bond, which its packets go on to.
	Ethernet, Port bool
}

var (
	// ErrNotLocal: no interface has the address.
	ErrNotLocal = errors.New("address not local")
	// ErrDown: the interface of the address is down.
	ErrDown = errors.New("interface down")
	// ErrDuplicate: another machine has the address too, or that is not known yet.
	ErrDuplicate = errors.New("address not usable")
)

// List returns all addresses of all interfaces, in the order of interfaces.
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

// Check reports whether a farm can have the address: one that an interface
// which is up has. The unspecified address stands for all of them. The errors
// are sentences for people and name ErrNotLocal, ErrDown or ErrDuplicate.
func Check(vip netip.Addr) (Local, error) {
	all, err := List()
	if err != nil {
		return Local{}, err
	}
	return Find(all, vip)
}

// Find is Check with the addresses that List returned, for those who ask about
// many.
func Find(all []Local, vip netip.Addr) (Local, error) {
	if vip.IsUnspecified() {
		return Local{Addr: vip, Up: true, Usable: true}, nil
	}
	err := fmt.Errorf("no interface of this machine has the address %s: %w", vip, ErrNotLocal)
	for _, l := range all {
		// 127.0.0.0/8 is all local, as the kernel has it.
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

// whole asks again while the kernel says that the table changed under it.
func whole[T any](ask func() ([]T, error)) (all []T, err error) {
	for range 5 {
		if all, err = ask(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return nil, err
}

// Reached says why packets to vip do not come to this machine's sockets; nil when
// they do, or nobody knows. all is what List returned. An address no interface
// has may still be local: by a route, as AnyIP has it.
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
